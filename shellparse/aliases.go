package shellparse

import "strings"

// aliasRows are programs with the names of those that read their words the same way: what is known of the first is known
// of all.
var aliasRows = []string{
	"awk gawk mawk nawk original-awk goawk igawk pgawk",
	"sed gsed ssed",
	"find gfind",
	"fd fdfind",
	"grep egrep fgrep ggrep rgrep",
	"tar gtar bsdtar",
	"make gmake",
	"jq gojq jaq",
	"bat batcat",
	"docker podman nerdctl finch",
	"docker-compose podman-compose",
	"kubectl oc k kubecolor",
	"helm helm3",
	"terraform tofu opentofu",
	"gradle ./gradlew gradlew",
	"mvn ./mvnw mvnw",
	"bazel bazelisk",
	"node nodejs",
	"pip pip3",
	"mysql mariadb",
	"yarn yarnpkg",
	"gpg gpg2",
	"xargs gxargs",
	"pytest py.test",
	"ruby jruby truffleruby",
	"conda mamba micromamba",
	"redis-cli valkey-cli keydb-cli",
}

// gnuPrefixed are the programs that package managers of other systems install with a "g" before their name.
const gnuPrefixed = "base32 base64 basenc basename cat chgrp chmod chown chroot cksum comm cp csplit cut date dd df dir dirname du echo env expand expr " +
	"factor fmt fold groups head hostname id install join kill link ln ls md5sum mkdir mkfifo mknod mktemp mv nice nl nohup nproc numfmt od paste patch " +
	"pathchk pinky pr printenv printf ptx pwd readlink realpath rm rmdir seq sha1sum sha224sum sha256sum sha384sum sha512sum shred shuf sleep sort split stat " +
	"stdbuf stty sum sync tac tail tee test timeout touch tr truncate tsort tty uname unexpand uniq unlink users vdir wc who whoami time diff"

var aliases = func() map[string]string {
	table := map[string]string{}
	for _, row := range aliasRows {
		names := strings.Fields(row)
		for _, n := range names[1:] {
			table[n] = names[0]
		}
	}
	for n := range strings.FieldsSeq(gnuPrefixed) {
		table["g"+n] = n
	}
	return table
}()

// Canonical returns the name by which the tables know a program: that of the one whose words it reads the same way.
func Canonical(program string) string {
	if name, ok := aliases[program]; ok {
		return name
	}
	return program
}
