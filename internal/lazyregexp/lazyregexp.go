// Package lazyregexp compiles regular expressions when they are first used. A program that starts for one call needs
// few of them, and compiling all would take longer than the call.
package lazyregexp

import (
	"os"
	"regexp"
	"strings"
	"sync"
)

// Regexp is a regular expression that is compiled on first use. Its methods are those of regexp.Regexp.
type Regexp struct {
	text     string
	compiled func() *regexp.Regexp
}

// inTest reports whether this is a test. In a test, an invalid expression fails at once.
var inTest = len(os.Args) > 0 && strings.HasSuffix(strings.TrimSuffix(os.Args[0], ".exe"), ".test")

// New returns the regular expression. It MUST be valid: an invalid one panics on first use.
func New(text string) *Regexp {
	r := &Regexp{text: text}
	r.compiled = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(r.text) })
	if inTest {
		r.compiled()
	}
	return r
}

func (r *Regexp) MatchString(s string) bool              { return r.compiled().MatchString(s) }
func (r *Regexp) FindString(s string) string             { return r.compiled().FindString(s) }
func (r *Regexp) FindStringIndex(s string) []int         { return r.compiled().FindStringIndex(s) }
func (r *Regexp) FindStringSubmatch(s string) []string   { return r.compiled().FindStringSubmatch(s) }
func (r *Regexp) FindAllString(s string, n int) []string { return r.compiled().FindAllString(s, n) }
func (r *Regexp) FindAllStringIndex(s string, n int) [][]int {
	return r.compiled().FindAllStringIndex(s, n)
}
func (r *Regexp) FindAllStringSubmatch(s string, n int) [][]string {
	return r.compiled().FindAllStringSubmatch(s, n)
}
func (r *Regexp) ReplaceAllString(s, with string) string {
	return r.compiled().ReplaceAllString(s, with)
}
func (r *Regexp) ReplaceAllStringFunc(s string, with func(string) string) string {
	return r.compiled().ReplaceAllStringFunc(s, with)
}
func (r *Regexp) FindSubmatch(b []byte) [][]byte   { return r.compiled().FindSubmatch(b) }
func (r *Regexp) FindSubmatchIndex(b []byte) []int { return r.compiled().FindSubmatchIndex(b) }
func (r *Regexp) FindAllStringSubmatchIndex(s string, n int) [][]int {
	return r.compiled().FindAllStringSubmatchIndex(s, n)
}
func (r *Regexp) Split(s string, n int) []string { return r.compiled().Split(s, n) }
