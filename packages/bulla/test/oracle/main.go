// Holds what Bulla writes against Go's own implementation of signed notes and transparency logs.
// Arguments: the verifier key of the log, a folder of tiles, a tlog-proof, and the leaf in hex.
// Prints "ok" and how many records the checkpoint covers, or what is wrong.
package main

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

func check(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func hash(text string) (h tlog.Hash) {
	bytes, err := base64.StdEncoding.DecodeString(text)
	check(err)
	copy(h[:], bytes)
	return h
}

func open(text string, verifier note.Verifier) tlog.Tree {
	opened, err := note.Open([]byte(text), note.VerifierList(verifier))
	check(err)
	lines := strings.Split(opened.Text, "\n")
	size, err := strconv.ParseInt(lines[1], 10, 64)
	check(err)
	return tlog.Tree{N: size, Hash: hash(lines[2])}
}

// tiles reads the folder; its paths lack the height that Go's have.
type tiles struct{ folder string }

func (t tiles) Height() int                            { return 8 }
func (t tiles) SaveTiles(_ []tlog.Tile, _ [][]byte)    {}
func (t tiles) ReadTiles(all []tlog.Tile) ([][]byte, error) {
	var found [][]byte
	for _, tile := range all {
		bytes, err := os.ReadFile(filepath.Join(t.folder, strings.Replace(tile.Path(), "tile/8/", "tile/", 1)))
		if err != nil {
			return nil, err
		}
		found = append(found, bytes)
	}
	return found, nil
}

func main() {
	verifier, err := note.NewVerifier(os.Args[1])
	check(err)
	published, err := os.ReadFile(filepath.Join(os.Args[2], "checkpoint"))
	check(err)
	tree := open(string(published), verifier)

	file, err := os.ReadFile(os.Args[3])
	check(err)
	parts := strings.SplitN(string(file), "\n\n", 2)
	lines := strings.Split(parts[0], "\n")
	index, err := strconv.ParseInt(strings.TrimPrefix(lines[1], "index "), 10, 64)
	check(err)
	var proof tlog.RecordProof
	for _, line := range lines[2:] {
		proof = append(proof, hash(line))
	}
	leaf, err := hex.DecodeString(os.Args[4])
	check(err)
	proven := open(parts[1], verifier)
	check(tlog.CheckRecord(proof, proven.N, proven.Hash, index, tlog.RecordHash(leaf)))

	// The reader verifies every tile that it takes against the root.
	reader := tlog.TileHashReader(tree, tiles{os.Args[2]})
	for i := int64(0); i < tree.N; i++ {
		_, err := tlog.ProveRecord(tree.N, i, reader)
		check(err)
	}
	own, err := tlog.ProveTree(tree.N, proven.N, reader)
	check(err)
	check(tlog.CheckTree(own, tree.N, tree.Hash, proven.N, proven.Hash))
	fmt.Printf("ok %d\n", tree.N)
}
