package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"callgate/internal/cluster"
	"callgate/internal/companion/credentials"
)

// Hosts and people come to any replica, so all have the same credentials: those of the first replica. A credential that
// is rotated or added at one soon reaches the others. Credentials from signing in end by themselves and stay at the
// replica where the person signed in.

const documentCredentials = "credentials"

// sharedCredentials are the files of the folder that are shared, by name. For one that cannot be used here stands what
// known has: that is no news to the other replicas, and the rest is shared.
func sharedCredentials(dataDir string, known map[string]string) (map[string]string, error) {
	entries, err := os.ReadDir(credentials.Dir(dataDir))
	if err != nil {
		return nil, err
	}
	held, faulty := map[string]string{}, map[string]bool{}
	for _, fault := range credentials.At(dataDir).Faults() {
		faulty[string(fault.Name)] = true
		if token, ok := known[string(fault.Name)]; ok {
			held[string(fault.Name)] = token
		}
	}
	for _, e := range entries {
		if faulty[e.Name()] || !e.Type().IsRegular() || strings.HasPrefix(e.Name(), ".") || strings.Contains(e.Name(), "~") {
			continue
		}
		text, err := credentials.ReadPrivate(filepath.Join(credentials.Dir(dataDir), e.Name()))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err // one that cannot be read is not one that somebody took away
		}
		if len(text) == 43 { // 32 bytes in base64url, without an end
			held[e.Name()] = string(text)
		}
	}
	return held, nil
}

// shareCredentials takes over the cluster's credentials, or gives it this replica's, and goes on doing so.
func (r *replica) shareCredentials(ctx context.Context) error {
	if _, err := credentials.Open(r.config.DataDir); err != nil {
		return err
	}
	last, err := r.agreeOnCredentials(ctx, nil)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(time.Second)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
			case <-ctx.Done():
				return
			}
			if r.cluster.Fresh() != nil {
				continue
			}
			now, err := r.agreeOnCredentials(ctx, last)
			if err != nil {
				r.problems.set("the cluster's credentials", "credentials cannot be shared with the other replicas: "+err.Error())
				continue
			}
			r.problems.set("the cluster's credentials")
			last = now
		}
	}()
	r.onClose(func() error { stop(); <-done; return nil })
	return nil
}

// agreeOnCredentials merges the folder and the cluster. last is what both had before; nil for a new replica, which then
// takes the cluster's.
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
		ours, err := sharedCredentials(r.config.DataDir, known)
		if err != nil {
			return last, err
		}
		agreed := maps.Clone(theirs)
		switch {
		case v.Revision == 0:
			agreed = ours
		case last != nil: // what changed here since is news
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
		return agreed, r.takeCredentials(ours, agreed)
	}
}

// takeCredentials makes the folder hold what was agreed on.
func (r *replica) takeCredentials(ours, agreed map[string]string) error {
	dir := credentials.Dir(r.config.DataDir)
	for name, token := range agreed {
		if ours[name] == token {
			continue
		}
		if filepath.Base(name) != name || strings.HasPrefix(name, ".") {
			return fmt.Errorf("%q is not a name for a credential", name)
		}
		if err := credentials.WritePrivate(filepath.Join(dir, name), []byte(token)); err != nil {
			return err
		}
		r.log.Info("cluster: a credential was taken over from the other replicas", "credential", name)
	}
	for name := range ours {
		if _, still := agreed[name]; !still {
			if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
			r.log.Info("cluster: a credential was removed by another replica", "credential", name)
		}
	}
	return nil
}
