package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"callgate/internal/lazyregexp"
	"callgate/internal/spelling"
)

var (
	invalidKeys  = lazyregexp.New(`'([^']*)' has invalid keys: ([^\n]*)`)
	invalidValue = lazyregexp.New(`(?m)^'([^']+)' (.*)$`)
	exportedName = lazyregexp.New(`(?:^|\.)(?:MCP|[A-Z]+)`)
)

// explainUnmarshal returns an error that says which key of which file or variable is wrong, and how to correct it.
func explainUnmarshal(file string, err error) error {
	file = cmp.Or(file, "flags and variables")
	text := err.Error()
	if m := invalidKeys.FindStringSubmatch(text); m != nil {
		where := "in " + KeyOf(m[1])
		if m[1] == "" || m[1] == fmt.Sprintf("%T", Config{}) { // the decoder's name for the top level
			where = "at the top level"
		}
		return fmt.Errorf("configuration %s: unknown key %s %s: correct or remove it%s (callgate config example shows every key)", file, asWritten(file, m[2]), where, didYouMean(m[2], keysBelow(m[1])))
	}
	if m := invalidValue.FindStringSubmatch(text); m != nil {
		key := KeyOf(m[1])
		if name := variableOf(key); name != "" {
			return fmt.Errorf("variable %s %q: %s", name, os.Getenv(name), cure(key, m[2]))
		}
		return fmt.Errorf("configuration %s: %s: %s", file, key, cure(key, m[2]))
	}
	return fmt.Errorf("configuration %s: %w", file, err)
}

// asWritten returns keys as the file spells them. The decoder has them in lower case.
func asWritten(file, keys string) string {
	text, _ := os.ReadFile(file) // the caller has read it, and lower-case keys are readable too
	words := strings.FieldsFunc(string(text), func(r rune) bool { return strings.ContainsRune(" \t\r\n\"':,{}[]", r) })
	list := strings.Split(keys, ", ")
	for i, key := range list {
		if at := slices.IndexFunc(words, func(word string) bool { return strings.EqualFold(word, key) }); at >= 0 {
			list[i] = words[at]
		}
	}
	return strings.Join(list, ", ")
}

// keysBelow returns the keys of the struct at a field. The field has the name that the decoder gives it.
func keysBelow(field string) (keys []string) {
	of := reflect.TypeFor[Config]()
	if field != fmt.Sprintf("%T", Config{}) {
		for _, part := range strings.FieldsFunc(field, func(r rune) bool { return r == '.' }) {
			name, _, _ := strings.Cut(part, "[")
			f, ok := of.FieldByName(name)
			if !ok {
				return nil
			}
			for of = f.Type; of.Kind() == reflect.Slice || of.Kind() == reflect.Pointer; {
				of = of.Elem()
			}
			if of.Kind() != reflect.Struct {
				return nil
			}
		}
	}
	for _, f := range reflect.VisibleFields(of) {
		if f.IsExported() && !f.Anonymous && f.Tag.Get("mapstructure") != "-" {
			keys = append(keys, KeyOf(f.Name))
		}
	}
	return keys
}

// explainConfirmation returns an error that says how to write the section toolConfirmation of other programs here.
func explainConfirmation(file string, section any) error {
	keys, ok := section.(map[string]any)
	if !ok {
		return nil
	}
	here := map[string]string{"mode": "mode", "timeout": "timeout", "allowedtoolsstorage": "remember"}
	var lines []string
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if name := here[strings.ToLower(key)]; name != "" {
			lines = append(lines, fmt.Sprintf("  %s: %v", name, keys[key]))
		} else {
			lines = append(lines, fmt.Sprintf("  # %s has no equivalent", key))
		}
	}
	return fmt.Errorf("configuration %s: toolConfirmation: callgate has these keys at the top level. Write instead:\n%s", file, strings.Join(lines, "\n"))
}

// explainTelegram returns an error for the section telegram of earlier versions. It says how to write it now.
func explainTelegram(file string, section any) error {
	if section == nil {
		return nil
	}
	return fmt.Errorf(`configuration %s: telegram: Telegram is a channel now, and only linked people answer. Write instead:
  channels:
    - name: telegram     # the bot's token: {dataDir}/credentials/telegram
      kind: telegram
      to: "CHAT"         # its id; one channel for each chat
      people: ["ID=name"]
Then run callgate approve --channels; /start in the chat tells the ids`, file)
}

// KeyOf returns the key in a file for a field of Config: servers[0].env for Servers[0].Env, mcpTokens for MCPTokens.
func KeyOf(field string) string {
	return exportedName.ReplaceAllStringFunc(strings.ReplaceAll(field, "OAuth", "Oauth"), strings.ToLower)
}

// variableOf returns the set variable that gives a key its value, or "" if there is none.
func variableOf(key string) string {
	for _, s := range allSettings() {
		if name := Variable(s.flag); s.key == key && os.Getenv(name) != "" {
			return name
		}
	}
	return ""
}

// cure returns what to write for a key whose value the decoder refused with this complaint.
func cure(key, complaint string) string {
	last, _, _ := strings.Cut(key[strings.LastIndexByte(key, '.')+1:], "[")
	switch {
	case last == "env":
		return `write a list of "NAME=value" lines`
	case last == "headers":
		return `write a list of "Name: value" lines`
	case strings.Contains(complaint, "time: "):
		return cures["duration"]
	case strings.Contains(complaint, "as 'int'"):
		return cures["int"]
	case strings.Contains(complaint, "as 'bool'"):
		return cures["bool"]
	case strings.Contains(complaint, "expected type 'string'"):
		return "write plain text here"
	case strings.Contains(complaint, "expected a map"):
		return "keys are missing below it: see callgate config example"
	}
	return complaint
}

// ArgsExactly takes n arguments. Its error shows how the command is written.
func ArgsExactly(n int) cobra.PositionalArgs { return ArgsBetween(n, n) }

// ArgsAtLeast takes n arguments or more. Its error shows how the command is written.
func ArgsAtLeast(n int) cobra.PositionalArgs { return ArgsBetween(n, math.MaxInt) }

// ArgsBetween takes least to most arguments. Its error shows how the command is written.
func ArgsBetween(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		words := strings.TrimSuffix(cmd.UseLine(), " [flags]")
		switch {
		case len(args) < least:
			return fmt.Errorf("an argument is missing: %s", words)
		case len(args) > most:
			return fmt.Errorf("%q is one argument too many: %s", args[most], words)
		}
		return nil
	}
}

var otherShape = lazyregexp.New("cannot unmarshal .* into map.*")

// explainYAML says why the configuration file cannot be parsed, without Go's terms.
func explainYAML(err error) error {
	text, found := strings.CutPrefix(err.Error(), "While parsing config: ")
	if !found {
		return err
	}
	text = strings.TrimPrefix(strings.TrimPrefix(text, "yaml: "), "unmarshal errors:\n  ")
	text = otherShape.ReplaceAllString(text, `write keys with values, such as "worker: default"`)
	if strings.Contains(text, "cannot start any token") {
		text += ": indent with spaces, not tabs"
	}
	return errors.New(text)
}

// Loaded returns the function of a command that needs the configuration.
func Loaded(s *Settings, run func(*cobra.Command, *Config, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		c, err := s.Load()
		if err != nil {
			return err
		}
		return run(cmd, c, args)
	}
}

// NoArgs takes no arguments. For a misspelled subcommand it lists the subcommands.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 || !cmd.HasSubCommands() {
		return ArgsExactly(0)(cmd, args)
	}
	var names []string
	for _, sub := range cmd.Commands() {
		names = append(names, sub.Name())
	}
	return fmt.Errorf("unknown command %q for %q: use %s", args[0], cmd.CommandPath(), strings.Join(names, ", "))
}

// ExplainGroups makes an unknown subcommand of a group or of help an error. Otherwise cobra succeeds with the help.
func ExplainGroups(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "help" {
			cmd.Run, cmd.RunE = nil, func(_ *cobra.Command, args []string) error {
				about, _, err := root.Find(args)
				if err != nil {
					return err
				}
				return about.Help()
			}
		}
		if !cmd.HasSubCommands() || cmd.Runnable() {
			continue
		}
		cmd.Args = NoArgs
		cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
}

// ExplainFlags says in plain words which flags of a command line exclude each other.
func ExplainFlags(err error) error {
	_, group, found := strings.Cut(err.Error(), "none of the others can be; [")
	group, _, ended := strings.Cut(group, "]")
	if !found || !ended {
		return err
	}
	return fmt.Errorf("use only one of --%s", strings.Join(strings.Fields(group), " and --"))
}

// OneOf returns the error for a missing or wrong value of a flag, with the words that it takes.
func OneOf(flag, given string, words []string) error {
	if given == "" {
		return fmt.Errorf("%s is missing: use %s", flag, strings.Join(words, ", "))
	}
	return fmt.Errorf("%s %q: use %s", flag, given, strings.Join(words, ", "))
}

// cures says how to write a value of each type. The keys are the names that flags have for types.
var cures = map[string]string{
	"duration": "use a duration with a unit, such as 120s or 15m",
	"int":      "use a whole number",
	"uint64":   "use a whole number",
	"bool":     "use true or false",
}

// ExplainFlag adds to a flag's error what values the flag takes, or the flag that was probably meant.
func ExplainFlag(cmd *cobra.Command, err error) error {
	if name, found := strings.CutPrefix(err.Error(), "unknown flag: --"); found {
		var names []string
		for _, flags := range []*pflag.FlagSet{cmd.Flags(), cmd.InheritedFlags()} {
			flags.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		}
		if near := spelling.Nearest(name, names); near != "" {
			return fmt.Errorf("%w; did you mean --%s?", err, near)
		}
		return err
	}
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		if cure := cures[invalid.GetFlag().Value.Type()]; cure != "" {
			return fmt.Errorf("--%s %q: %s", invalid.GetFlag().Name, invalid.GetValue(), cure)
		}
	}
	return err
}
