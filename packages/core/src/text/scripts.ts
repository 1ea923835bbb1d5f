/** Every script of Unicode 17 but Common, Inherited and Unknown, by its long name. An engine may know fewer. */
const NAMES =
  'Adlam Ahom Anatolian_Hieroglyphs Arabic Armenian Avestan Balinese Bamum Bassa_Vah Batak Bengali Beria_Erfe Bhaiksuki Bopomofo Brahmi Braille Buginese Buhid Canadian_Aboriginal Carian Caucasian_Albanian Chakma Cham Cherokee Chorasmian Coptic Cuneiform Cypriot Cypro_Minoan Cyrillic Deseret Devanagari Dives_Akuru Dogra Duployan Egyptian_Hieroglyphs Elbasan Elymaic Ethiopic Garay Georgian Glagolitic Gothic Grantha Greek Gujarati Gunjala_Gondi Gurmukhi Gurung_Khema Han Hangul Hanifi_Rohingya Hanunoo Hatran Hebrew Hiragana Imperial_Aramaic Inscriptional_Pahlavi Inscriptional_Parthian Javanese Kaithi Kannada Katakana Kawi Kayah_Li Kharoshthi Khitan_Small_Script Khmer Khojki Khudawadi Kirat_Rai Lao Latin Lepcha Limbu Linear_A Linear_B Lisu Lycian Lydian Mahajani Makasar Malayalam Mandaic Manichaean Marchen Masaram_Gondi Medefaidrin Meetei_Mayek Mende_Kikakui Meroitic_Cursive Meroitic_Hieroglyphs Miao Modi Mongolian Mro Multani Myanmar Nabataean Nag_Mundari Nandinagari New_Tai_Lue Newa Nko Nushu Nyiakeng_Puachue_Hmong Ogham Ol_Chiki Ol_Onal Old_Hungarian Old_Italic Old_North_Arabian Old_Permic Old_Persian Old_Sogdian Old_South_Arabian Old_Turkic Old_Uyghur Oriya Osage Osmanya Pahawh_Hmong Palmyrene Pau_Cin_Hau Phags_Pa Phoenician Psalter_Pahlavi Rejang Runic Samaritan Saurashtra Sharada Shavian Siddham Sidetic SignWriting Sinhala Sogdian Sora_Sompeng Soyombo Sundanese Sunuwar Syloti_Nagri Syriac Tagalog Tagbanwa Tai_Le Tai_Tham Tai_Viet Tai_Yo Takri Tamil Tangsa Tangut Telugu Thaana Thai Tibetan Tifinagh Tirhuta Todhri Tolong_Siki Toto Tulu_Tigalari Ugaritic Vai Vithkuqi Wancho Warang_Citi Yezidi Yi Zanabazar_Square'.split(
    ' ',
  );

let known: readonly (readonly [string, RegExp])[] | undefined;

function knownScripts(): readonly (readonly [string, RegExp])[] {
  known ??= NAMES.flatMap((name) => {
    try {
      return [[name, new RegExp(`\\p{Script_Extensions=${name}}`, 'u')] as const];
    } catch {
      return [];
    }
  });
  return known;
}

/** The scripts in which a character is used (Script_Extensions); none for one that every script shares. */
function scriptsOf(character: string): readonly string[] {
  if (character < '\u0080') return /[A-Za-z]/.test(character) ? ['Latin'] : [];
  return knownScripts().flatMap(([name, expression]) => (expression.test(character) ? [name] : []));
}

/** The script sets of the characters of a text, each set once; characters that every script shares give none. */
export function scriptSets(text: string): readonly (readonly string[])[] {
  const sets = new Map<string, readonly string[]>();
  for (const character of new Set(text)) {
    const scripts = scriptsOf(character);
    if (scripts.length > 0) sets.set(scripts.join(), scripts);
  }
  return [...sets.values()];
}

/** The writing systems that use several scripts at once (UTS #39 §5.1). */
const SYSTEMS: Readonly<Record<string, readonly string[]>> = {
  Han: ['Han with Bopomofo', 'Japanese', 'Korean'],
  Hiragana: ['Japanese'],
  Katakana: ['Japanese'],
  Hangul: ['Korean'],
  Bopomofo: ['Han with Bopomofo'],
};

/**
 * Whether no one script, nor one of the combinations Japanese, Korean and Han with Bopomofo, covers a text (UTS #39
 * §5.1: its resolved script set is empty). Ask this of a name or a word: a sentence may well quote another script.
 */
export function mixedScript(text: string): boolean {
  let resolved: readonly string[] | undefined;
  for (const set of scriptSets(text)) {
    const augmented = set.flatMap((name) => [name, ...(SYSTEMS[name] ?? [])]);
    resolved = resolved === undefined ? augmented : resolved.filter((name) => augmented.includes(name));
  }
  return resolved?.length === 0;
}
