package main

import "testing"

func TestExtractors(t *testing.T) {
	for _, c := range []struct{ ext, src, doc, code string }{
		{".go", "package a\n\n// Read reads all of it.\n//\n// More.\nfunc Read() {\n\treturn\n}\n", "reads all of it.", "func Read() {\n\treturn\n}"},
		{".py", "def read(x):\n    \"\"\"Reads all of it.\n\n    :param x: what\n    \"\"\"\n    a = 1\n    return a\n\nb = 2\n", "Reads all of it.", "def read(x):\n    a = 1\n    return a\n"},
		{".rs", "/// Reads all of it.\n#[inline]\npub fn read() {\n    a();\n}\n", "Reads all of it.", "pub fn read() {\n    a();\n}"},
		{".js", "/**\n * Reads all of it.\n * @param x what\n */\nexport function read(x) {\n  a();\n}\n", "Reads all of it.", "export function read(x) {\n  a();\n}"},
		{".rb", "# Reads all of it.\ndef read\n  a\nend\n", "Reads all of it.", "def read\n  a\nend"},
	} {
		found := extractors[c.ext](c.src)
		if len(found) != 1 || found[0].Doc != c.doc || found[0].Code != c.code {
			t.Errorf("%s: got %q", c.ext, found)
		}
	}
}
