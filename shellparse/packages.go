package shellparse

import (
	"strings"

	"callgate/shellparse/programs"
)

// packageLists are words after a subcommand that only look at what is installed, or use the project's own lists.
var packageLists = set("list show freeze check tree restore dir compile sync")

// listOptions of pip take a file or a directory, which is no package.
var listOptions = set("-r -c -e --requirement --editable --constraint")

// inspectPackages notes packages that a command names: they are fetched from elsewhere and run code when
// they are installed.
func (a *analysis) inspectPackages(c *call) {
	if len(c.argv) < 3 || !programs.Find(c.name, c.argv[1].text).Has(programs.Installs) {
		return
	}
	if c.name != "npm" && c.argv[2].known && packageLists[c.argv[2].text] {
		return
	}
	skip := false
	for _, w := range c.argv[2:] {
		switch {
		case skip:
			skip = false
		case w.known && strings.HasPrefix(w.text, "-"):
			skip = strings.HasPrefix(c.name, "pip") && listOptions[w.text]
		case w.known && (w.text == "." || strings.HasPrefix(w.text, "./") || strings.HasPrefix(w.text, ".[")) && !strings.Contains(w.text, ".."):
		default:
			c.operates("package " + w.text)
		}
	}
}

// loadingProperties begin, or are part of, the properties by which a Java build loads code or starts programs.
var loadingProperties = strings.Fields("exec maven.ext javaagent argline jvm org.gradle. java. surefire. failsafe. maven.multimodule maven.repo " +
	"maven.home altdeployment altrelease plugin javac gradle.user init script user.home maven.compiler " +
	"debugforked sbt.")

// harmlessProperty says that a property of a Java build selects or shows, and loads nothing.
func harmlessProperty(name string) bool {
	name = strings.ToLower(name)
	for _, p := range loadingProperties {
		if strings.HasPrefix(name, p) || len(p) > 3 && strings.Contains(name, p) {
			return false
		}
	}
	return true
}
