package inspect

import (
	"strings"

	"callgate/shellparse/internal/walk"
	"callgate/shellparse/internal/word"
	"callgate/shellparse/programs"
)

// packageLists lists words after a subcommand that only look at what is installed, or use the project's own lists.
var packageLists = word.Set("list show freeze check tree restore dir compile sync")

// listOptions lists the options of pip that take a file or a directory, which is not a package.
var listOptions = word.Set("-r -c -e --requirement --editable --constraint")

// inspectPackages records packages that a command names: they are fetched from elsewhere and run code when installed.
func inspectPackages(c *walk.Call) {
	if len(c.Argv) < 3 || !programs.Find(c.Name, c.Argv[1].Text).Has(programs.Installs) {
		return
	}
	if c.Name != "npm" && c.Argv[2].Known && packageLists[c.Argv[2].Text] {
		return
	}
	skip := false
	for _, w := range c.Argv[2:] {
		switch {
		case skip:
			skip = false
		case w.Known && strings.HasPrefix(w.Text, "-"):
			skip = strings.HasPrefix(c.Name, "pip") && listOptions[w.Text]
		case w.Known && (w.Text == "." || strings.HasPrefix(w.Text, "./") || strings.HasPrefix(w.Text, ".[")) && !strings.Contains(w.Text, ".."):
		default:
			c.Operates("package " + w.Text)
		}
	}
}

// loadingProperties lists prefixes, or longer parts, of properties by which a Java build loads code or starts programs.
var loadingProperties = strings.Fields("exec maven.ext javaagent argline jvm org.gradle. java. surefire. failsafe. maven.multimodule maven.repo " +
	"maven.home altdeployment altrelease plugin javac gradle.user init script user.home maven.compiler " +
	"debugforked sbt. proxyhost proxyport httpproxy javax.net.ssl ssl.insecure ssl.allowall showpasswords builddir")

// publishes lists the last parts of properties by which a Java build sends its results to a registry or a cluster.
var publishes = word.Set("push publish deploy upload")

// harmlessProperty reports whether a property of a Java build, NAME=VALUE, only selects or shows something.
func harmlessProperty(property string) bool {
	name, value, _ := strings.Cut(strings.ToLower(property), "=")
	for _, p := range loadingProperties {
		if strings.HasPrefix(name, p) || len(p) > 3 && strings.Contains(name, p) {
			return false
		}
	}
	return !publishes[name[strings.LastIndexByte(name, '.')+1:]] || value == "false"
}
