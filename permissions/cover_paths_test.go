package permissions

import "testing"

// TestPathsAreCompared checks that rules about paths are compared as they match paths.
func TestPathsAreCompared(t *testing.T) {
	for name, c := range map[string]struct {
		file          string
		covers, meets bool // whether the second rule covers or meets the first
	}{
		"an allow in a denied folder":           {`{"read_file": {"private": "deny", "private/notes.md": "allow"}}`, false, true},
		"an allow of what is spelled ./":        {`{"read_file": {"./src/x": "deny", "src/**": "allow"}}`, false, true},
		"an ask of the folder's name":           {`{"read_file": {"**/secret": "deny"}, "{read,write}_file": {"**/secret": "ask"}}`, false, true},
		"a deny of the folder":                  {`{"read_file": {"private/notes.md": "allow", "private": "deny"}}`, true, true},
		"commands are no paths":                 {`{"shell_exec": {"./deploy": "deny", "deploy": "allow"}}`, false, false},
		"everything":                            {`{"read_file": {"private": "deny"}, "*": {"*": "deny"}}`, true, true},
		"a tool that may be about paths or not": {`{"fs_x": {"private": "deny", "private/a": "allow"}}`, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			file, err := ParseFile("rules", []byte(c.file), "/home/u")
			if err != nil {
				t.Fatal(err)
			}
			first, second := &file.Rules[0], &file.Rules[1]
			if got := second.Covers(first); got != c.covers {
				t.Errorf("covers: %v", got)
			}
			if got := second.Meets(first); got != c.meets {
				t.Errorf("meets: %v", got)
			}
		})
	}
}

func TestExamplesOfPaths(t *testing.T) {
	for file, good := range map[string]bool{
		`{"read_file": {"private": {"action": "deny", "match": ["private", "private/k"], "notMatch": ["privates"]}}}`: true,
		`{"read_file": {"./src/**": {"action": "allow", "match": ["src/a"]}}}`:                                        true,
		`{"read_file": {"private": {"action": "deny", "notMatch": ["private/k"]}}}`:                                   false,
		`{"read_file": {"private": {"action": "allow", "match": ["private/k"]}}}`:                                     false,
		`{"shell_exec": {"./deploy": {"action": "deny", "match": ["deploy"]}}}`:                                       false,
	} {
		if _, err := ParseFile("rules", []byte(file), "/home/u"); (err == nil) != good {
			t.Errorf("%s: %v", file, err)
		}
	}
}
