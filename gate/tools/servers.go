package tools

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

//go:embed servers/*.json
var serverFiles embed.FS

// catalogue holds the tools of well-known servers by every name in their files. A file is read when its tools are first
// asked for, because few files are needed. Every argument of a tool is listed; a call with another argument asks. A
// tool that is not listed is judged as an unknown tool.
var catalogue = sync.OnceValue(func() map[string]func() map[string]entry {
	c, err := indexServers(serverFiles)
	if err != nil {
		panic(err) // the files are part of the program, and a test reads them
	}
	return c
})

// Own returns callgate's own tools by the names that callgate gives them, whether the configuration offers them or not.
func Own() []string { return slices.Sorted(maps.Keys(catalogue()["callgate"]())) }

// indexServers indexes all files by their packages.
func indexServers(files fs.FS) (map[string]func() map[string]entry, error) {
	names, err := fs.Glob(files, "servers/*.json")
	if err != nil {
		return nil, err
	}
	all := map[string]func() map[string]entry{}
	for _, name := range names {
		if path.Base(name) == "schema.json" {
			continue
		}
		packages, err := packagesOf(files, name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		list := sync.OnceValue(func() map[string]entry {
			list, err := readServer(files, name)
			if err != nil {
				panic(err) // for the same reason
			}
			return list
		})
		for _, p := range packages {
			if all[p] != nil {
				return nil, fmt.Errorf("%s: another file has the package %q", name, p)
			}
			all[p] = list
		}
	}
	return all, nil
}

// packagesOf reads a file up to its packages, which stand at the beginning.
func packagesOf(files fs.FS, name string) (packages []string, err error) {
	file, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close() // it was only read
	dec := jsontext.NewDecoder(file)
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	for dec.PeekKind() == '"' {
		member, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		if member.String() == "packages" {
			err = json.UnmarshalDecode(dec, &packages)
			return packages, err
		}
		if err := dec.SkipValue(); err != nil {
			return nil, err
		}
	}
	return nil, errors.New("packages are needed")
}

func readServer(files fs.FS, name string) (map[string]entry, error) {
	text, err := fs.ReadFile(files, name)
	if err != nil {
		return nil, err
	}
	var f serverFile
	if err := json.Unmarshal(text, &f, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	list, err := f.entries()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if f.Name == "" || f.Source == "" || len(f.Packages) == 0 {
		return nil, fmt.Errorf("%s: name, source and packages are needed", name)
	}
	return list, nil
}

// lookUp finds a tool in the catalogue among the packages that the configured command names.
func lookUp(s Server, tool string) (e entry, from string, ok bool) {
	for _, p := range s.Packages {
		from = packageName(p)
		list, known := catalogue()[from]
		if !known {
			continue
		}
		if e, ok = list()[tool]; ok {
			return e, from, true
		}
	}
	return entry{}, "", false
}

// packageName removes a version: "name@1.2.3", "name==1.2".
func packageName(name string) string {
	if i := strings.Index(name, "=="); i > 0 {
		name = name[:i]
	}
	if i := strings.LastIndexByte(name, '@'); i > 0 {
		name = name[:i]
	}
	return name
}
