package cluster

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// A backup has one JSON object per line: first its source, then each key with its sealed value. Reading it needs the
// cluster's key. It leaves out beats, budgets, locks and decided approvals, because a decision that was taken since
// would be taken twice.
type backupHead struct {
	Backup string    `json:"callgateBackup"` // version of the format
	Bucket string    `json:"bucket"`
	At     time.Time `json:"at"`
}

type backupLine struct {
	Key   string `json:"key"`
	Value []byte `json:"value"`
}

const backupVersion = "1"

// backupPlace returns what a value of a backup is sealed for, so that no value in NATS passes for it.
func backupPlace(key string) string { return "backup " + key }

// Backup writes the content of the bucket, and returns the number of keys. If documents cannot be read, it writes the
// rest and names them in the error.
func (c *Cluster) Backup(w io.Writer) (n int, err error) {
	out := bufio.NewWriter(w)
	write := func(line any) {
		text, failed := json.Marshal(line)
		if err == nil {
			err = failed
		}
		if err == nil {
			_, err = out.Write(append(text, '\n'))
		}
	}
	write(backupHead{backupVersion, c.bucket.name, c.o.now().UTC()})
	held := c.bucket.valuesUnder("")
	keys := make([]string, 0, len(held))
	var unread []error
	for key, v := range held {
		var e entry
		if v.err != nil && isDocument(key) {
			unread = append(unread, fmt.Errorf("%s: %w", key, v.err))
		}
		if v.body == nil || isFleeting(key) || strings.HasPrefix(key, "ask.") && (json.Unmarshal(v.body, &e) != nil || e.State != statePending) {
			continue
		}
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		write(backupLine{key, c.bucket.sealer.seal(backupPlace(key), held[key].body)})
		n++
	}
	if err = errors.Join(err, out.Flush()); err == nil {
		err = errors.Join(unread...)
	}
	return n, err
}

// Difference is a document that differs between a backup and the cluster. Here is empty if the cluster lacks it.
type Difference struct {
	Key          string
	Backup, Here Version
}

// Compare lists the documents of a backup that differ from the cluster's.
func (c *Cluster) Compare(ctx context.Context, r io.Reader) (all []Difference, err error) {
	err = c.bucket.readBackup(r, func(key string, body []byte) error {
		if !isDocument(key) {
			return nil
		}
		d := Difference{Key: key}
		if err := json.Unmarshal(body, &d.Backup); err != nil {
			return err
		}
		_, now, err := c.bucket.read(ctx, key)
		if err != nil && !errors.Is(err, errNone) && !errors.Is(err, errSealed) {
			return err
		}
		if now.body != nil {
			if d.Here, err = decodeVersion(now); err != nil {
				return err
			}
		}
		if now.body == nil || !bytes.Equal(d.Backup.Text, d.Here.Text) {
			all = append(all, d)
		}
		return nil
	})
	return all, err
}

// Restoring says what Restore does with the documents of a backup.
type Restoring struct {
	Replace bool              // replace what the cluster has
	Instead map[string][]byte // texts in place of the backup's; a nil text leaves the document as it is
}

// Restore puts back the content of a backup. What the bucket already has stays, unless o says otherwise; approvals that
// it knows always stay. Restored approvals wait for their hosts to repeat the call.
func (c *Cluster) Restore(ctx context.Context, r io.Reader, o Restoring) (restored, kept int, err error) {
	err = c.bucket.readBackup(r, func(key string, body []byte) error {
		text, instead := o.Instead[key]
		if instead && text != nil {
			var err error
			if body, err = json.Marshal(Version{Text: text, By: "restore", At: c.o.now().UTC(), Chance: chance()}); err != nil {
				return err
			}
		}
		done := false
		if !instead || text != nil {
			var err error
			if done, err = c.bucket.restoreOne(ctx, key, body, o.Replace); err != nil {
				return err
			}
		}
		if done {
			restored++
		} else {
			kept++
		}
		return nil
	})
	return restored, kept, err
}

// readBackup calls f with each key of a backup of this bucket, and with the value.
func (b *bucket) readBackup(r io.Reader, f func(key string, body []byte) error) error {
	in := json.NewDecoder(r)
	var head backupHead
	if err := in.Decode(&head); err != nil || head.Backup != backupVersion {
		return errors.Join(errors.New("this is not a backup of a cluster"), err)
	}
	if head.Bucket != b.name {
		return fmt.Errorf("the backup is of the bucket %s, but this is %s", head.Bucket, b.name)
	}
	for {
		var line backupLine
		err := in.Decode(&line)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("the backup is damaged: %w", err)
		}
		body, err := b.sealer.unseal(backupPlace(line.Key), line.Value)
		if err == nil {
			err = f(line.Key, body)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", line.Key, err)
		}
	}
}

func (b *bucket) restoreOne(ctx context.Context, key string, body []byte, replace bool) (bool, error) {
	_, now, err := b.read(ctx, key)
	if err != nil && !errors.Is(err, errNone) && !(replace && errors.Is(err, errSealed)) {
		return false, err
	}
	live, approval := time.Duration(0), strings.HasPrefix(key, "ask.")
	if now.body != nil && (approval || !replace) {
		return false, nil
	}
	if approval {
		var e entry
		if err := json.Unmarshal(body, &e); err != nil {
			return false, err
		}
		if time.Now().After(e.Expires) {
			return false, nil
		}
		e.Waits, e.Epoch, live = false, "backup", time.Until(e.Expires)+keepUnspent
		if body, err = json.Marshal(e); err != nil {
			return false, err
		}
	}
	rev, err := b.write(ctx, key, body, now.rev, live)
	if err == nil && now.rev == 0 && !approval { // restored after loss, the value follows no change, and replicas may have seen some: the second write follows the first
		_, err = b.write(ctx, key, body, rev, live)
	}
	return err == nil, err
}
