// As lines.mjs, with bufio.Scanner: `lines server LOG`, `lines reader`.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Arguments struct {
			Say string `json:"say"`
		} `json:"arguments"`
	} `json:"params"`
}

var results = map[string]string{
	"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},` +
		`"serverInfo":{"name":"lines","version":"1"}}`,
	"tools/list": `{"tools":[{"name":"say","inputSchema":{"type":"object"}}]}`,
}

func answer(line string) {
	var m message
	if json.Unmarshal([]byte(line), &m) != nil || m.ID == nil || m.Method == "" {
		return
	}
	say := m.Params.Arguments.Say
	if say == "" {
		result := results[m.Method]
		if result == "" {
			result = "{}"
		}
		say = `{"jsonrpc":"2.0","id":#,"result":` + result + "}"
	}
	fmt.Println(strings.ReplaceAll(say, "#", string(m.ID)))
}

func main() {
	log := os.Stdout
	isServer := os.Args[1] == "server"
	if isServer {
		var err error
		if log, err = os.OpenFile(os.Args[2], os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
			panic(err)
		}
	}
	scanner := bufio.NewScanner(os.Stdin)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		fmt.Fprintf(log, "%x\n", scanner.Bytes())
		if isServer {
			answer(scanner.Text())
		}
	}
}
