// Package manual writes a command line's help as manual pages, word for word.
package manual

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Write writes a page for cmd and for each subcommand that help shows, into folder, which it makes if needed.
func Write(folder string, cmd *cobra.Command, version string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, name(cmd)+".1"), []byte(page(cmd, version)), 0o644); err != nil {
		return err
	}
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "help" {
			if err := Write(folder, sub, version); err != nil {
				return err
			}
		}
	}
	return nil
}

func name(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// page returns a page in the macros of man(7). It has no date, so that the same program makes the same page.
func page(cmd *cobra.Command, version string) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s 1 \"\" %s %s\n", quoted(strings.ToUpper(name(cmd))), quoted("callgate "+version), quoted("callgate manual"))
	fmt.Fprintf(&b, ".nh\n.ad l\n.SH NAME\n%s \\- %s\n.SH SYNOPSIS\n", text(name(cmd)), text(cmd.Short))
	if cmd.Runnable() {
		fmt.Fprintf(&b, ".B %s\n", text(cmd.UseLine()))
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, ".br\n.B %s\n[command]\n", text(cmd.CommandPath()))
	}
	if cmd.Long != "" {
		b.WriteString(".SH DESCRIPTION\n" + paragraphs(cmd.Long))
	}
	options(&b, "OPTIONS", cmd.LocalFlags())
	options(&b, "GENERAL OPTIONS", cmd.InheritedFlags())
	if cmd.Example != "" {
		b.WriteString(".SH EXAMPLES\n" + verbatim(cmd.Example))
	}
	var also []string
	if cmd.HasParent() {
		also = append(also, name(cmd.Parent()))
	}
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "help" {
			also = append(also, name(sub))
		}
	}
	if len(also) > 0 {
		b.WriteString(".SH SEE ALSO\n")
		for i, page := range also {
			comma := ","
			if i == len(also)-1 {
				comma = ""
			}
			fmt.Fprintf(&b, ".BR %s (1)%s\n", text(page), comma)
		}
	}
	return b.String()
}

func options(b *strings.Builder, title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	fmt.Fprintf(b, ".SH %s\n", title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		b.WriteString(".TP\n.B ")
		if f.Shorthand != "" {
			fmt.Fprintf(b, "\\-%s, ", f.Shorthand)
		}
		b.WriteString(text("--" + f.Name))
		if value != "" {
			b.WriteString(text(" " + value))
		}
		if d := f.DefValue; d != "" && d != "false" && d != "[]" && d != "0" && d != "0s" {
			usage += " (default " + d + ")"
		}
		b.WriteString("\n" + text(usage) + "\n")
	})
}

// paragraphs keeps indented paragraphs as they are and lets the rest flow.
func paragraphs(long string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(strings.TrimSpace(long), "\n\n") {
		if strings.HasPrefix(part, " ") {
			b.WriteString(verbatim(part))
		} else {
			b.WriteString(".PP\n" + text(part) + "\n")
		}
	}
	return b.String()
}

func verbatim(s string) string { return ".PP\n.nf\n" + text(strings.Trim(s, "\n")) + "\n.fi\n" }

// text escapes plain text, so that no line is taken for a macro.
func text(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	var b strings.Builder
	for _, r := range strings.Join(lines, "\n") {
		if r < 0x80 {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, `\[u%04X]`, r)
		}
	}
	return b.String()
}

func quoted(s string) string { return `"` + strings.ReplaceAll(text(s), `"`, `""`) + `"` }
