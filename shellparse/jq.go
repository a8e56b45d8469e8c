package shellparse

import (
	"regexp"
	"strings"
)

// jqName is a name in a jq program that is not a field.
var jqName = regexp.MustCompile(`(^|[^.\w"$])(\$?[A-Za-z_]\w*)\s*(:?)`)

// jqReaches are the names by which a jq program sees more than its input.
var jqReaches = set("env $ENV input_filename import include $__prog_args get_search_list modulemeta debug stderr input_line_number getpath_env")

// inspectJq looks at the program and the files of jq.
func inspectJq(a *analysis, c *call, _ *scanned) {
	program, texts := false, false // texts: further operands are no files
	for i := 1; i < len(c.argv); i++ {
		w := c.argv[i]
		name, _, _ := strings.Cut(w.text, "=")
		switch {
		case !w.known && !w.safe() && !program:
			c.effect("code " + w.text)
			return
		case name == "--arg" || name == "--argjson":
			i += 2
		case name == "--slurpfile" || name == "--rawfile" || name == "--argfile":
			if i+2 < len(c.argv) {
				c.reads = a.file(c.reads, c.argv[i+2], c.name, c.sc)
			}
			i += 2
		case name == "--args" || name == "--jsonargs":
			texts = true // options are still options after it
		case name == "--indent":
			i++
		case strings.HasPrefix(name, "--from") || strings.HasPrefix(name, "--lib"), len(name) > 1 && name[0] == '-' && name[1] != '-' && strings.ContainsAny(name, "fL"):
			c.effect("option " + name)
			program = true
			i++
		case w.known && len(w.text) > 1 && w.text[0] == '-':
		case !program:
			program = true
			if !w.known || jqReachesOut(w.text) {
				c.effect("code " + w.text)
			}
		case !texts:
			c.reads = a.file(c.reads, w, c.name, c.sc)
		}
	}
}

func jqReachesOut(s string) bool {
	for _, m := range jqName.FindAllStringSubmatch(s, -1) {
		if jqReaches[m[2]] && m[3] == "" {
			return true
		}
	}
	return false
}
