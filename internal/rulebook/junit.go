package rulebook

import (
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"callgate/gate/tools"
)

// junitSuites is the JUnit format that GitHub, GitLab and Jenkins read.
type junitSuites struct {
	XMLName  xml.Name   `xml:"testsuites"`
	Name     string     `xml:"name,attr"`
	Tests    int        `xml:"tests,attr"`
	Failures int        `xml:"failures,attr"`
	Suite    junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name    string        `xml:"name,attr"`
	Class   string        `xml:"classname,attr"`
	File    string        `xml:"file,attr"`
	Line    int           `xml:"line,attr,omitempty"`
	Failure *junitFailure `xml:"failure"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

// WriteJUnit writes the results to a file.
func WriteJUnit(path string, results []Result) error {
	all := junitSuites{Name: "callgate rules test", Tests: len(results)}
	for _, r := range results {
		file, line := splitSource(r.Case.Source)
		c := junitCase{Name: tools.Visible(r.Case.title()), Class: filepath.Base(file), File: file, Line: line}
		if r.Failure != "" {
			all.Failures++
			text := tools.Visible(r.Failure)
			c.Failure = &junitFailure{Message: text, Type: "verdict", Text: fmt.Sprintf("%s: %s", r.Case.Source, text)}
		}
		all.Suite.Cases = append(all.Suite.Cases, c)
		all.Suite.Name = file
	}
	all.Suite.Tests, all.Suite.Failures = all.Tests, all.Failures
	text, err := xml.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append([]byte(xml.Header), append(text, '\n')...), 0o644)
}

// splitSource splits "file:line". line is 0 if there is none.
func splitSource(source string) (file string, line int) {
	at := strings.LastIndexByte(source, ':')
	if at < 0 {
		return source, 0
	}
	line, err := strconv.Atoi(source[at+1:])
	if err != nil {
		return source, 0
	}
	return source[:at], line
}
