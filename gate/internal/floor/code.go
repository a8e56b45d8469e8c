package floor

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"callgate/gate/internal/facts"
	"callgate/gate/tools"
	"callgate/internal/lazyregexp"
	"callgate/permissions"
	"callgate/shellparse/programs"
)

// Texts in other languages, which callgate cannot fully analyze: what they name and what they do.
var (
	codeVital    = lazyregexp.New(`["'\x60(,\s](?:/|~/?|/\*|~/\*|(?:/home|/Users|/root)(?:/[\w.-]+)?/?\*{0,2}|(?:[\w./~-]*/)?\.(?:git|hg|svn|jj)/?|/dev/(?:[hsv]d[a-z]|xvd|nvme|mmcblk|r?disk|mapper/)\w*)(?:["'\x60),;\s]|$)|["'\x60]` + systemFolder + `/?\*{0,2}["'\x60]|(?i:rm_?tree|rm_?rf|rmSync)\W{1,3}(?:\.\./)*\.\./?["'\x60]|expanduser|homedir\s*\(|\bPath\.home\b|\bDir\.home\b|(?i:\bENV\b[^\w]{0,3}HOME|environ[^\w]{0,3}HOME|env\.HOME\b|getenv\(\W?HOME|\$HOME\b|UserProfile|UserHomeDir)`)
	codeLoses    = lazyregexp.New(`(?i)\brm\(|rm_?tree|rm_?rf?\b|rmSync|rmdir|unlink|remove|delete|erase|trash|shred|truncate|overwrite|copytree|rename|\bmove\b|chmod|chown|wipe|mkfs|\bdd\b|["']w[b+t]*["']|writeFile|\bsystem\b|\bexec|spawn|popen|subprocess|shell\s+script|\x60`)
	codeHarmless = lazyregexp.New(`["']/["']\s*\.\s*join|(?:split|join|replace(?:All)?|strip|ends_?[wW]ith|starts_?[wW]ith|[iI]ndex_?[oO]f|r?find|g?sub|explode|implode)\s*\(\s*["'/]+["']`)
)

// systemFolder matches the folders without which a system does not work.
const systemFolder = `/(?:etc|usr(?:/\w+)?|bin|sbin|lib(?:32|64)?|boot|var(?:/(?:lib|log))?|opt|srv|System|Library|Applications)`

// shellWipes matches a shell command that removes a root, a home or a folder of the system, inside any text.
var shellWipes = lazyregexp.New(`(?:^|[^\w.-])(?:(?:rm|shred|rimraf|chmod|chown)\s+(?:[^\s;&|"'\x60]+\s+)*?["']?` + wiped + `|find\s+["']?` + wiped + `[^;|]*-(?:delete|exec|ok))|delete-directory\s+"(?:/|~)[/"]`)

const wiped = `(?:/|~|\$HOME|\$\{HOME\}|` + systemFolder + `)[/*.]*(?:["'\x60\s;&|)]|$)`

// codes looks for texts in other languages that name something vital together with a destructive operation, or that
// name a credential store. It also looks for shell commands in texts that remove a root or a home.
func (f *check) codes() string {
	for _, c := range f.a.Commands {
		if len(c.Argv) == 0 || !c.Code && !c.Risk.Exceeds(permissions.Network) {
			continue
		}
		for _, text := range append(c.Argv[1:len(c.Argv):len(c.Argv)], c.Input) {
			if text == "" || len(text) > maxAddressText {
				continue
			}
			if wipes := shellWipes.FindString(text); wipes != "" && strings.Contains(text, " ") {
				return fmt.Sprintf("hands over the command %s", tools.Visible(strings.TrimSpace(wipes)))
			}
			if !c.Code {
				continue
			}
			if store := tools.CredentialStore(text); store != "" && strings.ContainsAny(text, "(\"' ") {
				return fmt.Sprintf("runs code with %s in it, which contains credentials", tools.Visible(store))
			}
			if loses := codeLoses.FindString(text); loses != "" {
				vital := codeVital.FindString(codeHarmless.ReplaceAllString(text, ""))
				if vital == "" && namesWhole(text, f.call.Place.Home) {
					vital = f.call.Place.Home
				}
				if vital != "" {
					return fmt.Sprintf("runs code that may lose what %s names (%s)", tools.Visible(strings.TrimSpace(vital)), tools.Visible(loses))
				}
			}
		}
	}
	return ""
}

// namesWhole reports whether a text names a folder and nothing below it.
func namesWhole(text, folder string) bool {
	if folder == "" {
		return false
	}
	for {
		_, rest, ok := strings.Cut(text, folder)
		if !ok {
			return false
		}
		if rest = strings.TrimLeft(rest, "/*."); rest == "" || strings.ContainsAny(rest[:1], "\"'`),; ") {
			return true
		}
		text = rest
	}
}

// How options, arguments and the descriptions of pods name folders of this machine for a container.
var (
	bindOption  = lazyregexp.New(`^(?:-[ditPq]*[vB]=?|--(?:volume|bind|mount)(?:=|$))(.*)$`)
	bindPath    = lazyregexp.New("(?:^|,)([/.~$`][^:,]*)(?::[^:,]+(?::([\\w=-]*(?:,[\\w=-]+)*))?)?") // source:target:options
	bindMember  = lazyregexp.New(`(?i)(?:^|,)(?:src|source|(?:-o=?|--opt=|volume-opt=)?device)=([^,]*)`)
	bindReads   = lazyregexp.New(`(?i)(?:^|,)(?:ro|readonly)(?:=(?:true|1))?(?:,|$)`)
	here        = lazyregexp.New("^(?:\\$PWD|\\$\\{PWD\\}|\\$\\(pwd\\)|`pwd`)") // a value that is not known, as the text spells it
	hostPath    = lazyregexp.New(`hostPath["']?\s*:\s*\{?[^}]*?[\s{,"']path["']?\s*:\s*(?:[|>]-?\s*)?["']?([^"'\s,}]*)`)
	bindTargets = facts.WordsOf("target bind mode destination dst type containerpath name")
	bindNames   = lazyregexp.New(`(?i)(?:^|[_-])(?:volumes?|mounts?|binds?)(?:$|[_.-])`)
)

// opens looks for containers that may write to something vital.
func (f *check) opens() string {
	for _, c := range f.a.Commands {
		if len(c.Argv) == 0 || !About(Program(c)).Has(programs.RunsContainers) {
			continue
		}
		for i, word := range c.Argv[1:] {
			next := ""
			if i+2 < len(c.Argv) {
				next = c.Argv[i+2]
			}
			if why := f.gives(append(hostPaths(word), bound(word, next)...), c.Dirs); why != "" {
				return why
			}
		}
		if why := f.gives(hostPaths(c.Input), c.Dirs); why != "" {
			return why
		}
	}
	if len(f.a.Commands) > 0 || facts.FileKind(f.call.Tool.Kind) {
		return ""
	}
	return f.mounts()
}

// mounts is opens for a tool with an argument for volumes, or one that takes the description of a container.
func (f *check) mounts() string {
	var sources []string
	values := f.call.Values()
	for i, v := range values {
		sources = append(sources, hostPaths(v.Text)...)
		if strings.HasPrefix(v.Text, "-") { // of a list of words
			sources = append(sources, bound(v.Text, values[min(i+1, len(values)-1)].Text)...)
		}
		if strings.HasSuffix(v.Name, "hostPath.path") {
			sources = append(sources, v.Text)
		}
		if _, within, _ := strings.Cut(v.Name, "."); bindNames.MatchString(v.Name) {
			key, member := cutLast(within, ".")
			if sources = append(sources, key); !bindTargets[strings.ToLower(member)] {
				sources = append(sources, bound("-v", v.Text)...)
			}
		}
	}
	return f.gives(sources, nil)
}

// gives returns why one of these folders is not for a container to write, or "" if all are. dirs are as for vitalSource.
func (f *check) gives(sources, dirs []string) string {
	i := slices.IndexFunc(sources, func(source string) bool { return vitalSource(source, dirs, f.call.Place) })
	if i < 0 {
		return ""
	}
	return fmt.Sprintf("gives a container %s to write", tools.Visible(sources[i]))
}

// hostPaths returns the folders of this machine that the description of pods or services, in JSON or YAML, gives to
// containers. What merely looks like such a description counts too.
func hostPaths(text string) (folders []string) {
	if !strings.Contains(text, "hostPath") && !strings.Contains(text, "volumes") {
		return nil
	}
	for _, m := range hostPath.FindAllStringSubmatch(strings.ReplaceAll(text, `\/`, "/"), -1) {
		folders = append(folders, m[1])
	}
	for documents := yaml.NewDecoder(strings.NewReader(text)); ; {
		var document yaml.Node
		if documents.Decode(&document) != nil {
			return folders
		}
		if len(document.Content) > 0 && document.Content[0].Kind != yaml.ScalarNode {
			folders = append(folders, hostPathsOf(&document)...)
		}
	}
}

// hostPathsOf is hostPaths for a part of a document. It reads the texts in it, too.
func hostPathsOf(n *yaml.Node) (folders []string) {
	if n.Kind == yaml.ScalarNode {
		return hostPaths(n.Value)
	}
	for i, part := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 1 {
			folders = append(folders, named(n.Content[i-1].Value, part)...)
		}
		folders = append(folders, hostPathsOf(part)...)
	}
	return folders
}

// named returns the folders that a member of a description gives to containers: the volume of a pod, those of a
// service, or the device of a volume.
func named(member string, value *yaml.Node) (folders []string) {
	switch member {
	case "hostPath":
		var volume struct{ Path string }
		if value.Decode(&volume) == nil {
			folders = append(folders, volume.Path)
		}
	case "device":
		folders = append(folders, value.Value)
	case "volumes":
		var volumes []yaml.Node
		if value.Decode(&volumes) != nil {
			return nil
		}
		for _, v := range volumes {
			var volume struct {
				Source   string
				ReadOnly bool `yaml:"read_only"`
			}
			if v.Kind == yaml.ScalarNode {
				folders = append(folders, bound("-v", v.Value)...)
			} else if v.Decode(&volume) == nil && !volume.ReadOnly {
				folders = append(folders, volume.Source)
			}
		}
	}
	return folders
}

// cutLast cuts a text around the last separator. If there is none, after is the whole text.
func cutLast(text, separator string) (before, after string) {
	i := strings.LastIndex(text, separator)
	if i < 0 {
		return "", text
	}
	return text[:i], text[i+len(separator):]
}

// bound returns the folders of this machine that an option gives to a container to write. next is the word behind it.
func bound(word, next string) (sources []string) {
	given := word // of a volume or a device that is added
	if m := bindOption.FindStringSubmatch(word); m != nil {
		given = cmp.Or(m[1], next)
	} else if !strings.Contains(word, "device=") && !strings.HasPrefix(word, "source=") {
		return nil
	}
	given = strings.ReplaceAll(given, `"`, "")
	members := bindMember.FindAllStringSubmatch(given, -1)
	for _, m := range members {
		if !bindReads.MatchString(given) {
			sources = append(sources, m[1])
		}
	}
	if len(members) > 0 {
		return sources
	}
	for _, m := range bindPath.FindAllStringSubmatch(given, -1) {
		if !bindReads.MatchString(m[2]) {
			sources = append(sources, m[1])
		}
	}
	return sources
}

// vitalSource reports whether a container that may write to a folder can make the machine or an account useless. The
// workspace does not count: it is what containers are given to work on. The name of the folder begins in one of dirs, or
// where the call runs if there are none.
func vitalSource(source string, dirs []string, place tools.Place) bool {
	source = here.ReplaceAllString(strings.ReplaceAll(source, `"`, ""), ".")
	for _, home := range []string{"~", "$HOME", "${HOME}"} {
		if rest, ok := strings.CutPrefix(source, home); ok && (rest == "" || rest[0] == '/') {
			source = place.Home + rest
		}
	}
	if strings.HasPrefix(source, ".") {
		if len(dirs) == 0 {
			dirs = []string{place.Dir}
		}
		return slices.ContainsFunc(dirs, func(dir string) bool {
			return filepath.IsAbs(dir) && vitalSource(filepath.Join(dir, source), nil, place)
		})
	}
	if !strings.HasPrefix(source, "/") || source == "/tmp" || slices.Contains(append(place.Roots[:len(place.Roots):len(place.Roots)], place.Dir), strings.TrimSuffix(source, "/")) {
		return false
	}
	return vital(tools.Wipe{Path: source, How: tools.Closed}, place) != ""
}
