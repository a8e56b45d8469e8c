package chunks

import (
	"cmp"
	"strings"

	"callgate/rag/internal/terms"
)

// definition is a name that a line defines.
type definition struct {
	line   int // from 0
	indent int
	name   string
	minor  bool // a variable or constant: can be found, but does not title a chunk
}

// definitions finds what the lines of a file define, by the forms that definitions have in most languages: a keyword
// and a name, or a type, a name and parameters. A wrong guess costs a little rank, nothing else.
func definitions(lang string, lines []line, src string) []definition {
	if !hasDefinitions(lang) {
		return nil
	}
	var defs []definition
	for i := range lines {
		l := &lines[i]
		if l.blank || l.end-l.start > maxDefinitionLine {
			continue
		}
		text := strings.TrimRight(src[l.text:l.end], " \t\r")
		name, minor := definedBy(lang, text, l.indent)
		if name == "" {
			continue
		}
		defs = append(defs, definition{i, l.indent, name, minor})
		if strings.HasPrefix(text, "impl") {
			if _, target, ok := strings.Cut(text, " for "); ok {
				if name := qualifiedName(target); name != "" {
					defs = append(defs, definition{i, l.indent, name, true})
				}
			}
		}
	}
	return defs
}

// maxDefinitionLine is the length in bytes above which a line counts as data.
const maxDefinitionLine = 400

func hasDefinitions(lang string) bool {
	switch lang {
	case "css", "html", "template", "assembly", "text":
		return false
	}
	return true
}

// definedBy returns the name that the line, without indentation, defines, or "".
func definedBy(lang, text string, indent int) (name string, minor bool) {
	switch text[0] {
	case '/', '*', '"', '\'', '<', '}', ')', ']', '@', '|', '&':
		return "", false
	case '#':
		if rest, ok := strings.CutPrefix(strings.TrimLeft(text[1:], " \t"), "define "); ok {
			return qualifiedName(rest), true
		}
		return "", false
	}
	rest := text
	for range 8 {
		word := leadingWord(rest)
		if word == "" {
			break
		}
		after := rest[len(word):]
		switch {
		case modifiers[word]:
			rest = behindModifier(after)
			continue
		case keywords[word] && word == "macro_rules" && strings.HasPrefix(after, "!"),
			keywords[word] && after != "" && strings.IndexByte(" \t<*", after[0]) >= 0:
			name := qualifiedName(strings.TrimLeft(after, "!"))
			if keywords[name] || modifiers[name] { // enum class X, case class X, const fn x
				rest = strings.TrimLeft(after, " \t")
				continue
			}
			return name, word == "package" || word == "namespace"
		case variables[word] && strings.HasPrefix(after, " "):
			if indent > 4 {
				return "", false
			}
			name := qualifiedName(after)
			if !keywords[name] && !modifiers[name] {
				return name, !isFunctionValue(after)
			}
			rest = strings.TrimLeft(after, " \t")
			continue
		}
		break
	}
	return cmp.Or(assignedFunction(rest), withoutKeyword(lang, text, indent)), false
}

// behindModifier returns what follows a modifier and its argument, as in pub(crate) and private(set).
func behindModifier(after string) string {
	if strings.HasPrefix(after, "(") {
		_, after, _ = strings.Cut(after, ")")
	}
	return strings.TrimLeft(after, " \t")
}

// withoutKeyword returns what a line defines in languages that have no keyword for definitions, or "".
func withoutKeyword(lang, text string, indent int) string {
	switch lang {
	case "c", "cpp", "java", "csharp", "javascript", "typescript", "php", "bash", "dart", "groovy", "objective-c", "vue", "svelte", "d", "awk", "solidity", "protobuf":
		return functionLike(text)
	case "haskell", "ocaml", "fsharp":
		if word := leadingWord(text); word != "" && strings.HasPrefix(strings.TrimLeft(text[len(word):], " "), "::") && indent == 0 {
			return word
		}
	}
	return ""
}

// functionLike returns the name in "type name(parameters" or "name() {". It returns "" for calls and statements.
func functionLike(text string) string {
	open := strings.IndexByte(text, '(')
	if open <= 0 {
		return ""
	}
	head := strings.TrimRight(text[:open], " \t")
	start := len(head)
	for start > 0 && isNameByte(head[start-1]) {
		start--
	}
	name, before := head[start:], head[:start]
	if name == "" || notFunctions[name] || name[0] >= '0' && name[0] <= '9' {
		return ""
	}
	if strings.ContainsAny(before, "=\"'`{}();+-/%!|^") || notFunctions[leadingWord(before)] || notFunctions[leadingWord(text)] {
		return ""
	}
	if !declares(before, text) {
		return ""
	}
	return name
}

// declares reports whether a line with this text before the name can declare it.
func declares(before, text string) bool {
	last := text[len(text)-1]
	typed := len(before) > 0 && before[len(before)-1] != '.' && before[len(before)-1] != '>'
	if typed || strings.HasSuffix(before, "> ") {
		return last != ';' || !strings.Contains(before, ".")
	}
	return last == '{' && !strings.Contains(before, ".") && !strings.Contains(text, "=>") && !strings.Contains(text, "function")
}

// assignedFunction returns the name in "a.b.name = function(…)", "name: async (…) =>" and the like, or "".
func assignedFunction(text string) string {
	i := strings.IndexAny(text, "=:")
	if i <= 0 || !isFunctionValue(text[i:]) {
		return ""
	}
	name := strings.TrimRight(text[:i], " \t")
	for _, c := range []byte(name) {
		if !isNameByte(c) && c != '.' {
			return ""
		}
	}
	return name[strings.LastIndexByte(name, '.')+1:]
}

// isFunctionValue reports whether the value assigned in text looks like a function.
func isFunctionValue(text string) bool {
	i := strings.IndexAny(text, "=:")
	if i < 0 {
		return false
	}
	value := strings.TrimLeft(text[i+1:], " \t")
	value = strings.TrimPrefix(value, "async ")
	return strings.HasPrefix(value, "function") || strings.Contains(value, "=>")
}

// qualifiedName returns the last part of the dotted name at the start of text. It skips a receiver, type parameters and
// sigils.
func qualifiedName(text string) string {
	text = strings.TrimLeft(text, " \t*&")
	for _, pair := range []string{"<>", "()"} {
		if len(text) > 0 && text[0] == pair[0] {
			_, after, ok := strings.Cut(text, pair[1:])
			if !ok {
				return ""
			}
			text = strings.TrimLeft(after, " \t*&")
		}
	}
	name := ""
	for {
		word := leadingWord(text)
		if word == "" {
			return name
		}
		name = word
		text = text[len(word):]
		switch {
		case strings.HasPrefix(text, "::"), strings.HasPrefix(text, "->"):
			text = text[2:]
		case strings.HasPrefix(text, "."), strings.HasPrefix(text, ":"), strings.HasPrefix(text, "\\"), strings.HasPrefix(text, "#"):
			text = text[1:]
		default:
			return name
		}
		if text == "" || !isNameByte(text[0]) || text[0] >= '0' && text[0] <= '9' {
			return name
		}
	}
}

// leadingWord returns the identifier at the start of text.
func leadingWord(text string) string {
	i := 0
	for i < len(text) && isNameByte(text[i]) {
		i++
	}
	if i > 0 && text[0] >= '0' && text[0] <= '9' {
		return ""
	}
	return text[:i]
}

func isNameByte(c byte) bool { return terms.InWord(c) || c == '$' }

var (
	modifiers = terms.Set(`public private protected internal static final abstract override async export default inline
		unsigned extern virtual sealed readonly open suspend pub unsafe declare partial transient volatile synchronized
		native strictfp fileprivate mutating nonmutating local operator infix tailrec external lateinit companion data
		implicit lazy case constexpr consteval friend explicit noexcept required convenience dynamic indirect weak final
		new actual expect crossinline annotation value typedef`)
	keywords = terms.Set(`class module defmodule def defp defmacro defmacrop defprotocol defimpl interface struct enum trait
		type func function object fn fun package namespace protocol record impl macro_rules macro union extension actor
		newtype instance sub mod typealias contract message service rpc defn defun deftype defrecord`)
	variables = terms.Set(`const let var val static define`)
	// notFunctions lists words that precede a parenthesis or a call and define nothing.
	notFunctions = terms.Set(`if for foreach while switch catch return else elseif elif sizeof new throw await do assert
		case delete in yield goto until unless with using lock typeof instanceof super this self function
		defined echo print require include require_once include_once import and or not when match raise except
		try finally then esac done decltype alignas static_assert exec local readonly declare`)
)
