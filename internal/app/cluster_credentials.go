package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"callgate/internal/cluster"
	"callgate/internal/companion/credentials"
	"callgate/internal/config"
	"callgate/internal/periodic"
)

// Hosts and people may come to any replica, so all replicas have the same credentials: those of the first one. A
// credential that is rotated or added at one replica soon reaches the others. Credentials from signing in end by
// themselves, and stay at the replica where the person signed in.

const documentCredentials = "credentials"

// sharedCredentials returns the credentials in the folder that replicas share, by name. A file that exists but cannot
// be used does not stop the sharing of the rest: it stands for what known has, so that the other replicas see no
// change. With mend, a damaged file counts as missing, and is replaced by what the replicas agree on. A file that other
// users could read is never replaced: it has to be rotated.
func sharedCredentials(dataDir string, known map[string]string, mend bool) (map[string]string, error) {
	entries, err := os.ReadDir(credentials.Dir(dataDir))
	if err != nil {
		return nil, err
	}
	held, store := map[string]string{}, credentials.At(dataDir)
	for _, e := range entries {
		name := e.Name()
		if strings.HasPrefix(name, ".") || strings.Contains(name, "~") {
			continue
		}
		token, err := store.Lasting(credentials.Credential(name))
		switch {
		case errors.Is(err, os.ErrNotExist), mend && errors.Is(err, credentials.ErrDamaged), err == nil && token == "":
		case err == nil && len(token) == 43: // 32 bytes in base64url, without a line end
			held[name] = token
		case known[name] != "":
			held[name] = known[name]
		}
	}
	return held, nil
}

// shareCredentials takes over the cluster's credentials, or gives it this replica's, and then keeps them in step.
func (r *replica) shareCredentials(ctx context.Context) error {
	if _, err := credentials.Open(r.config.DataDir); err != nil {
		return err
	}
	last, err := r.agreeOnCredentials(ctx, nil)
	if err != nil {
		return err
	}
	trouble := r.problems.of("the cluster's credentials", "credentials cannot be shared with the other replicas: ")
	r.onClose(runBackground(context.Background(), func(ctx context.Context) {
		for range periodic.Every(ctx, time.Second) {
			if r.cluster.Fresh() != nil {
				continue
			}
			last, err = r.agreeOnCredentials(ctx, last)
			trouble(err)
		}
	}))
	return nil
}

// agreeOnCredentials merges the folder and the cluster. last is what both had before, or nil for a new replica, which
// takes the cluster's. It returns what both have now, even with an error.
func (r *replica) agreeOnCredentials(ctx context.Context, last map[string]string) (map[string]string, error) {
	document := r.cluster.Document(documentCredentials)
	for {
		v, err := document.Now()
		if err != nil {
			return last, err
		}
		theirs := map[string]string{}
		if v.Revision > 0 {
			if err := json.Unmarshal(v.Text, &theirs); err != nil {
				return last, err
			}
		}
		known := last
		if known == nil {
			known = theirs
		}
		ours, err := sharedCredentials(r.config.DataDir, known, last == nil)
		if err != nil {
			return last, err
		}
		agreed := maps.Clone(theirs)
		switch {
		case v.Revision == 0:
			agreed = ours
		case last != nil: // only what has changed here since is new
			for name, token := range ours {
				if last[name] != token {
					agreed[name] = token
				}
			}
			for name := range last {
				if _, still := ours[name]; !still {
					delete(agreed, name)
				}
			}
		}
		if !maps.Equal(agreed, theirs) {
			text, err := json.Marshal(agreed)
			if err != nil {
				return last, err
			}
			if _, err := document.Replace(ctx, v.Revision, text, "replica "+r.cluster.Name()); errors.Is(err, cluster.ErrChanged) {
				continue
			} else if err != nil {
				return last, err
			}
		}
		return r.takeCredentials(last, ours, agreed)
	}
}

// takeCredentials makes the folder hold what was agreed on, as far as it can, and returns what both then have. What
// came from elsewhere does not count as this replica's change later, even if another credential could not be written.
func (r *replica) takeCredentials(last, ours, agreed map[string]string) (both map[string]string, failed error) {
	both = map[string]string{}
	keep := func(name string) { // keeps what both had before
		if token, had := last[name]; had {
			both[name] = token
		}
	}
	for name, token := range agreed {
		if ours[name] != token {
			if err := writeCredential(r.config.DataDir, name, token); err != nil {
				failed = errors.Join(failed, err)
				keep(name)
				continue
			}
			r.log.Info("cluster: a credential was taken over from the other replicas", "credential", name)
		}
		both[name] = token
	}
	for name := range ours {
		if _, still := agreed[name]; still {
			continue
		}
		if err := os.Remove(filepath.Join(credentials.Dir(r.config.DataDir), name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			failed = errors.Join(failed, err)
			keep(name)
			continue
		}
		r.log.Info("cluster: a credential was removed by another replica", "credential", name)
	}
	return both, failed
}

func writeCredential(dataDir, name, token string) error {
	if filepath.Base(name) != name || strings.HasPrefix(name, ".") {
		return fmt.Errorf("%q is not a name for a credential", name)
	}
	return credentials.WritePrivate(filepath.Join(credentials.Dir(dataDir), name), []byte(token))
}

// Restoration says what a backup brings back, and what happens to the cluster's credentials. The backup's credentials
// come back only with takes, because with them come secrets that were rotated away and people who were removed.
// Otherwise the cluster keeps its own, or gets this replica's if it has lost them.
func Restoration(c *config.Config, all []cluster.Difference, replace, takes bool) (said []string, o cluster.Restoring, err error) {
	o = cluster.Restoring{Replace: replace, Instead: map[string][]byte{}}
	for _, d := range all {
		switch {
		case d.Key == documentCredentials:
			line, text, err := restoredCredentials(c.DataDir, d, takes)
			if err != nil {
				return nil, o, err
			}
			if said = append(said, line); !takes && (text != nil || d.Here.Revision > 0) {
				o.Instead[d.Key] = text
			}
		case d.Here.Revision == 0:
			said = append(said, fmt.Sprintf("%s of %s comes back", d.Key, d.Backup.At.Format(time.RFC3339)))
		case replace:
			said = append(said, fmt.Sprintf("%s of %s by %s replaces revision %d of %s by %s", d.Key, d.Backup.At.Format(time.RFC3339), d.Backup.By, d.Here.Revision, d.Here.At.Format(time.RFC3339), d.Here.By))
		}
	}
	return said, o, nil
}

// restoredCredentials says what happens to the credentials. text replaces those of the backup; it is nil if the
// backup's return or the cluster's stay.
func restoredCredentials(dataDir string, d cluster.Difference, takes bool) (line string, text []byte, err error) {
	held := d.Here.Text
	if d.Here.Revision == 0 {
		ours, err := sharedCredentials(dataDir, nil, false)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", nil, err
		}
		if len(ours) > 0 {
			if held, err = json.Marshal(ours); err != nil {
				return "", nil, err
			}
			text = held
		}
	}
	differ, err := changedCredentials(held, d.Backup.Text)
	switch {
	case err != nil:
		return "", nil, err
	case takes || held == nil:
		return "credentials come from the backup: " + differ + "; rotate those that nobody should use any more", nil, nil
	case text != nil:
		return "credentials are those of this replica; from the backup, with --credentials: " + differ, text, nil
	}
	return "credentials stay; from the backup, with --credentials: " + differ, nil, nil
}

// changedCredentials names the credentials that differ, without their secrets.
func changedCredentials(now, then []byte) (string, error) {
	from, to := map[string]string{}, map[string]string{}
	for text, into := range map[*[]byte]*map[string]string{&now: &from, &then: &to} {
		if len(*text) > 0 {
			if err := json.Unmarshal(*text, into); err != nil {
				return "", err
			}
		}
	}
	var said []string
	for _, name := range slices.Sorted(maps.Keys(to)) {
		switch before, known := from[name]; {
		case !known:
			said = append(said, name+" is there again")
		case before != to[name]:
			said = append(said, name+" has an older secret")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(from)) {
		if _, still := to[name]; !still {
			said = append(said, name+" is gone")
		}
	}
	if said == nil {
		return "nothing changes", nil
	}
	return strings.Join(said, ", "), nil
}
