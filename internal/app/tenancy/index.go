package tenancy

import (
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"callgate/internal/companion/credentials"
	"callgate/internal/tenants"
)

// sum is the hash of a credential. Nobody can sign in with it.
type sum string

func sumOf(token string) sum {
	s := sha256.Sum256([]byte(token))
	return sum(base64.RawURLEncoding.EncodeToString(s[:]))
}

// index finds the tenant that an approver's credential belongs to. Its answer has to be checked again, because
// credentials are rotated and end.
type index struct {
	dataDir string

	mu      sync.Mutex
	of      map[sum]string
	folders map[string]folder             // folders of credentials, by tenant
	theirs  map[peerConn]map[string][]sum // what other replicas know, by tenant
	looked  time.Time
}

// folder is what a tenant's folder of credentials held when it was read. Any change of a credential changes the folder.
type folder struct {
	changed time.Time // zero if it has to be read again
	sums    []sum
}

const (
	again   = time.Second     // how often folders are looked at for an unknown credential
	settled = 2 * time.Second // how old a folder's change must be before a reading is kept, because two changes can have the same time
)

// tenant returns the tenant that a token belongs to, or "" if there is none. here is false if only another replica
// knows the token.
func (x *index) tenant(token string) (name string, here bool) {
	if len(token) < 32 || len(token) > 64 {
		return "", false
	}
	s := sumOf(token)
	x.mu.Lock()
	defer x.mu.Unlock()
	if _, known := x.of[s]; !known {
		x.lookAround()
	}
	if name := x.of[s]; name != "" {
		return name, true
	}
	for _, said := range x.theirs {
		for name, sums := range said {
			if slices.Contains(sums, s) {
				return name, false
			}
		}
	}
	return "", false
}

// lookAround reads the folders that have changed, unless it has just done so. The caller holds mu.
func (x *index) lookAround() {
	if time.Since(x.looked) < again {
		return
	}
	x.looked = time.Now()
	found, err := os.ReadDir(filepath.Dir(tenants.Dir(x.dataDir, "x")))
	if err != nil {
		return // there is no tenant yet
	}
	gone := maps.Clone(x.folders)
	for _, f := range found {
		if tenants.CheckName(f.Name()) == nil {
			delete(gone, f.Name())
			x.read(f.Name())
		}
	}
	for name := range gone {
		x.take(name, folder{})
		delete(x.folders, name)
	}
}

// look notes the credentials of a tenant that has new ones.
func (x *index) look(name string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.read(name)
}

// read notes the credentials of one tenant, if its folder has changed. The caller holds mu.
func (x *index) read(name string) {
	dir := tenants.Dir(x.dataDir, name)
	info, err := os.Stat(credentials.Dir(dir))
	if err != nil {
		x.take(name, folder{})
		return
	}
	now := folder{changed: info.ModTime()}
	if before := x.folders[name].changed; !before.IsZero() && before.Equal(now.changed) {
		return
	}
	if time.Since(now.changed) < settled {
		now.changed = time.Time{}
	}
	store := credentials.At(dir)
	people, err := store.People()
	if err == nil {
		for _, one := range append(people, credentials.Approve, credentials.View, credentials.Tools, credentials.Prompt) {
			if token, err := store.Token(one); err == nil { // a token that cannot be read lets nobody in
				now.sums = append(now.sums, sumOf(token))
			}
		}
	}
	x.take(name, now)
}

// take notes what the folder of a tenant holds. The caller holds mu.
func (x *index) take(name string, now folder) {
	before := x.folders[name]
	if x.of == nil {
		x.of, x.folders = map[sum]string{}, map[string]folder{}
	}
	x.folders[name] = now
	for _, s := range before.sums {
		if x.of[s] == name {
			delete(x.of, s)
		}
	}
	for _, s := range now.sums {
		x.of[s] = name
	}
}

// all returns the credentials of the tenants here.
func (x *index) all() map[string][]sum {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.lookAround()
	sums := make(map[string][]sum, len(x.folders))
	for name, f := range x.folders {
		sums[name] = f.sums
	}
	return sums
}

// peerConn is one connection to another replica. That replica's next process may be heard before this connection has
// ended.
type peerConn <-chan struct{}

// hear notes what another replica says about a tenant. forget takes back everything from one connection.
func (x *index) hear(from peerConn, tenant string, sums []sum) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.theirs == nil {
		x.theirs = map[peerConn]map[string][]sum{}
	}
	if x.theirs[from] == nil {
		x.theirs[from] = map[string][]sum{}
	}
	x.theirs[from][tenant] = sums
}

func (x *index) forget(from peerConn) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.theirs, from)
}
