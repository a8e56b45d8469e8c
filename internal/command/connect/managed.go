package connect

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"callgate/gate/tools"
	"callgate/internal/hosthooks"
)

// managed writes the settings that an administrator rolls out, below a folder. It replaces no existing file.
func (o *connecting) managed(cmd *cobra.Command, hosts []string, folder string) error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	for i := range hosts {
		hosts[i] = strings.ToLower(hosts[i])
	}
	files, err := hosthooks.Managed(hosts, runtime.GOOS, program)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	var all error
	for _, f := range files {
		path := filepath.Join(folder, strings.TrimPrefix(filepath.FromSlash(f.Path), filepath.VolumeName(f.Path)))
		if o.dryRun {
			fmt.Fprintf(out, "%s\n%s\n", tools.Visible(path), f.Text)
			continue
		}
		if err := writeNew(path, f.Text); err != nil {
			all = errors.Join(all, err)
			continue
		}
		fmt.Fprintf(out, "written  %s\n         belongs to %s. %s\n", tools.Visible(path), f.Path, f.Note)
	}
	return all
}

// writeNew creates a file that everybody can read and only its owner can change. It fails if the file exists.
func writeNew(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s exists already: move it away, or merge the two by hand (--dry-run prints what would be written)", path)
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Sync(), f.Close())
}
