package output

import (
	"fmt"
	"io"
	"strings"
	"time"

	"callgate/internal/presence"
	"callgate/internal/visible"
)

// Passkeys prints the registered passkeys.
func Passkeys(w io.Writer, keys []presence.Key) error {
	var b strings.Builder
	for _, k := range keys {
		person := ""
		if k.Person != "" {
			person = " of " + visible.Text(k.Person)
		}
		fmt.Fprintf(&b, "%s%s, for %s, since %s\n  %s\n", visible.Text(k.Name), person, k.Party, k.Added.Local().Format(time.DateOnly), k.ID)
	}
	if len(keys) == 0 {
		b.WriteString("No passkey is registered: \"callgate passkeys add\" registers one.\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
