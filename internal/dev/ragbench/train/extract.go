package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strings"
)

// extractors find pairs in source text, by file extension.
var extractors = map[string]func(src string) []pair{
	".go": fromGo, ".py": fromPython,
	".rs":  commented("///", `^\s*(?:pub(?:\([^)]*\))?\s+)?(?:async\s+|const\s+|unsafe\s+|extern\s+"C"\s+)*(?:fn|struct|enum|trait|impl|macro_rules!)\b`),
	".rb":  commented("#", `^\s*(?:def|class|module)\s`),
	".php": commented("", `^\s*(?:(?:abstract|final|public|protected|private|static)\s+)*(?:function|class|interface|trait)\s`),
	".js":  javascript, ".ts": javascript, ".mjs": javascript,
}

var javascript = commented("", `^\s*(?:export\s+)?(?:default\s+)?(?:(?:async\s+)?function\b|class\s|(?:const|let|var)\s+\w+\s*=|(?:static\s+|async\s+|get\s+|set\s+)*[\w$]+\s*\([^;]*\)\s*\{|[\w.$]+\s*=\s*(?:async\s*)?(?:function|\())`)

// paragraph returns the first paragraph of a comment: the part before tags, parameters and examples.
func paragraph(comment string) string {
	var words []string
	for line := range strings.SplitSeq(comment, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || paragraphEnd.MatchString(line) {
			if len(words) > 0 {
				break
			}
			continue
		}
		words = append(words, line)
	}
	return strings.Join(words, " ")
}

var paragraphEnd = regexp.MustCompile("^(?:@|:param|Args:|Parameters|>>>|\\\\param|```|# )")

func fromGo(src string) (found []pair) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "", src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil
	}
	add := func(doc *ast.CommentGroup, name string, node ast.Node) {
		if doc != nil {
			text := strings.TrimPrefix(paragraph(doc.Text()), name+" ")
			found = append(found, pair{Doc: text, Code: src[set.Position(node.Pos()).Offset:set.Position(node.End()).Offset]})
		}
	}
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Body != nil && len(d.Body.List) > 0 {
				add(d.Doc, d.Name.Name, d)
			}
		case *ast.GenDecl:
			if len(d.Specs) == 1 {
				if t, ok := d.Specs[0].(*ast.TypeSpec); ok {
					add(d.Doc, t.Name.Name, d)
				}
			}
		}
	}
	return found
}

var pythonDefinition = regexp.MustCompile(`^\s*(?:async\s+)?(?:def|class)\s+\w+`)

// fromPython makes a pair of each definition that starts with a docstring.
func fromPython(src string) (found []pair) {
	lines := strings.Split(src, "\n")
	for i := range lines {
		if !pythonDefinition.MatchString(lines[i]) {
			continue
		}
		head := i
		for head < len(lines)-1 && head < i+30 && !strings.HasSuffix(strings.TrimSpace(lines[head]), ":") {
			head++
		}
		doc, body := docstring(lines, head+1)
		if doc == "" {
			continue
		}
		end := blockEnd(lines, body, indentation(lines[i]))
		if end-body >= 2 {
			code := strings.Join(lines[i:head+1], "\n") + "\n" + strings.Join(lines[body:end], "\n")
			found = append(found, pair{Doc: paragraph(doc), Code: code})
		}
	}
	return found
}

// docstring returns the docstring that starts at line i, or "", and the line after it.
func docstring(lines []string, i int) (doc string, after int) {
	if i >= len(lines) {
		return "", i
	}
	text := strings.TrimLeft(strings.TrimSpace(lines[i]), "rRuU")
	for _, quote := range []string{`"""`, "'''"} {
		rest, ok := strings.CutPrefix(text, quote)
		if !ok {
			continue
		}
		rest = strings.Join(append([]string{rest}, lines[i+1:min(len(lines), i+200)]...), "\n")
		doc, _, ok = strings.Cut(rest, quote)
		if !ok {
			return "", i
		}
		return doc, i + strings.Count(doc, "\n") + 1
	}
	return "", i
}

// commented returns an extractor for languages with comments before definitions. The comments are /** … */ blocks and,
// unless mark is "", lines that start with mark.
func commented(mark, definition string) func(string) []pair {
	defines := regexp.MustCompile(definition)
	return func(src string) (found []pair) {
		lines := strings.Split(src, "\n")
		for i := 0; i < len(lines); i++ {
			doc, at := comment(lines, i, mark)
			if at == i {
				continue
			}
			for at < len(lines) && (strings.HasPrefix(strings.TrimSpace(lines[at]), "#[") || strings.HasPrefix(strings.TrimSpace(lines[at]), "@")) {
				at++
			}
			if at < len(lines) && defines.MatchString(lines[at]) {
				end := min(blockEnd(lines, at+1, indentation(lines[at]))+1, len(lines), at+120)
				if end-at >= 2 {
					found = append(found, pair{Doc: paragraph(doc), Code: strings.Join(lines[at:end], "\n")})
				}
			}
			i = at - 1
		}
		return found
	}
}

// comment returns the comment that starts at line i, and the line after it; i if there is no comment.
func comment(lines []string, i int, mark string) (doc string, after int) {
	var text []string
	if strings.HasPrefix(strings.TrimSpace(lines[i]), "/**") {
		for ; i < len(lines); i++ {
			line := strings.TrimSpace(lines[i])
			text = append(text, strings.TrimLeft(strings.TrimSuffix(line, "*/"), "/* "))
			if strings.HasSuffix(line, "*/") {
				i++
				break
			}
		}
		return strings.Join(text, "\n"), i
	}
	for mark != "" && i < len(lines) && strings.HasPrefix(strings.TrimSpace(lines[i]), mark) {
		text = append(text, strings.TrimLeft(strings.TrimSpace(lines[i]), mark+" "))
		i++
	}
	return strings.Join(text, "\n"), i
}

// blockEnd returns the first line from i on that is not indented deeper than indent, ignoring opening brackets.
func blockEnd(lines []string, i, indent int) int {
	for ; i < len(lines); i++ {
		text := strings.TrimSpace(lines[i])
		if text != "" && indentation(lines[i]) <= indent && text[0] != '{' {
			break
		}
	}
	return i
}

func indentation(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }
