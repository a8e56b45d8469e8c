package credentials

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Two names that a person cannot tell apart count as one name. A skeleton is what a name looks like, similar to Unicode
// TS #39, as far as the name can look like the ASCII name of a person.

// drawnAlike maps what looks like a lower-case or upper-case ASCII letter to that letter.
var drawnAlike = strings.NewReplacer(
	// Cyrillic
	"а", "a", "в", "b", "ь", "b", "с", "c", "ԁ", "d", "е", "e", "ё", "e", "ғ", "f", "ԍ", "g", "һ", "h", "н", "h", "і", "l", "ї", "l", "ӏ", "l", "ј", "j", "к", "k", "ӄ", "k",
	"м", "m", "о", "o", "р", "p", "ԛ", "q", "г", "r", "ѕ", "s", "т", "t", "ц", "u", "ѵ", "v", "ԝ", "w", "ш", "w", "х", "x", "у", "y", "ү", "y", "ʒ", "3", "з", "3", "п", "n",
	// Greek
	"α", "a", "β", "b", "ς", "c", "ϲ", "c", "δ", "d", "ε", "e", "η", "n", "ι", "l", "ϳ", "j", "κ", "k", "μ", "m", "ν", "v", "ο", "o", "σ", "o", "ρ", "p", "τ", "t", "υ", "u", "χ", "x", "γ", "y", "ω", "w", "ζ", "z",
	// Armenian, Cherokee, Coptic
	"ա", "w", "գ", "q", "զ", "q", "հ", "h", "յ", "j", "ո", "n", "ռ", "n", "ս", "u", "օ", "o", "ց", "g", "ք", "p", "ց", "g",
	"Ꭺ", "a", "ꭺ", "a", "Ᏼ", "b", "Ꮯ", "c", "ꮯ", "c", "Ꭰ", "d", "ꭰ", "d", "Ꭼ", "e", "ꭼ", "e", "Ꮐ", "g", "ꮐ", "g", "Ꮋ", "h", "Ꭵ", "l", "Ꭻ", "j", "Ꮶ", "k", "Ꮮ", "l", "ꮮ", "l", "Ꮇ", "m",
	"Ꮲ", "p", "Ꭱ", "r", "Ꮪ", "s", "Ꭲ", "t", "Ꮩ", "v", "Ꮤ", "w", "Ꮃ", "w", "Ꮍ", "y", "Ꮓ", "z", "ⲟ", "o", "ⲥ", "c", "ⲣ", "p",
	// Latin letters that look alike, and digits
	"ı", "l", "i", "l", "ɩ", "l", "ɪ", "l", "ǀ", "l", "|", "l", "1", "l", "0", "o", "ɑ", "a", "ɡ", "g", "ꞓ", "c", "ᴄ", "c", "ᴏ", "o", "ᴠ", "v", "ᴡ", "w", "ᴢ", "z", "ꜱ", "s", "ʀ", "r", "ɴ", "n", "ʜ", "h", "ʟ", "l", "ᴅ", "d", "ᴇ", "e", "ᴊ", "j", "ᴋ", "k", "ᴍ", "m", "ᴘ", "p", "ᴛ", "t", "ᴜ", "u", "ʏ", "y", "ᴀ", "a", "ʙ", "b",
	"rn", "m", "vv", "w", "ø", "o", "đ", "d", "ł", "l", "ħ", "h",
)

// Skeleton returns what a name looks like: without case, accents and invisible characters.
func Skeleton(name string) string {
	seen := strings.Map(func(r rune) rune {
		switch {
		case unicode.In(r, unicode.Cf, unicode.Cc, unicode.Mn, unicode.Me, unicode.Z, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector):
			return -1
		}
		return r
	}, norm.NFKD.String(name))
	return drawnAlike.Replace(strings.ToLower(seen))
}

// Scripts returns the number of scripts in a name's letters.
func Scripts(name string) int {
	found := map[string]bool{}
	for _, r := range norm.NFKC.String(name) {
		if !unicode.IsLetter(r) {
			continue
		}
		for script, table := range unicode.Scripts {
			if unicode.Is(table, r) {
				found[together(script)] = true
				break
			}
		}
	}
	return len(found)
}

// together maps scripts that are used together in one language to one of them.
func together(script string) string {
	switch script {
	case "Hiragana", "Katakana", "Hangul", "Bopomofo":
		return "Han"
	}
	return script
}
