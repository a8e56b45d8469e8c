package siem

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callgate/internal/testserver/addresses"
	"callgate/internal/testserver/waits"
)

// TestSign signs the requests in AWS' documentation.
func TestSign(t *testing.T) {
	k := keys{id: "AKIAIOSFODNN7EXAMPLE", secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"}
	for _, c := range []struct {
		method, path, body string
		header             http.Header
		signed, signature  string
	}{
		{
			"PUT", "/test$file.text", "Welcome to Amazon S3.", http.Header{"Date": {"Fri, 24 May 2013 00:00:00 GMT"}, "X-Amz-Storage-Class": {"REDUCED_REDUNDANCY"}},
			"date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class", "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
		},
		{"GET", "/?lifecycle", "", http.Header{}, "host;x-amz-content-sha256;x-amz-date", "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"},
	} {
		r, err := http.NewRequest(c.method, "https://examplebucket.s3.amazonaws.com"+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header = c.header
		k.sign(r, []byte(c.body), "us-east-1", time.Date(2013, 5, 24, 0, 0, 0, 0, time.UTC))
		want := "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, SignedHeaders=" + c.signed + ", Signature=" + c.signature
		if got := r.Header.Get("Authorization"); got != want {
			t.Errorf("%s\nwant\n%s", got, want)
		}
	}
}

func TestKeys(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys")
	for _, c := range []struct {
		text string
		want keys
	}{
		{"aws_access_key_id=a\r\naws_secret_access_key = s=/+\r\n", keys{"a", "s=/+", ""}},
		{"# aws_access_key_id = old\naws_access_key_id = a\naws_secret_access_key = s\naws_session_token = t", keys{"a", "s", "t"}},
		{"[other]\naws_access_key_id = b\n[default]\naws_access_key_id = a\naws_secret_access_key = s\n[third]\naws_secret_access_key = c\naws_session_token = t\n", keys{"a", "s", ""}},
		{"[other]\naws_access_key_id = b\naws_secret_access_key = c\n", keys{}},
		{"aws_access_key_id = a\n", keys{}},
		{"aws_access_key_id = a\naws_secret_access_key = s\n" + strings.Repeat("#", maxFile), keys{}},
	} {
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := readKeys(file)
		if wrong := c.want == (keys{}); wrong != (err != nil) || !wrong && got != c.want {
			t.Errorf("%.100q: %v %v", c.text, got, err)
		}
	}
}

// objects passes the records of all objects to the bench. The server stores each in a file.
func (b *bench) objects(dir string) (n int) {
	b.t.Helper()
	b.mu.Lock()
	b.got = nil
	b.mu.Unlock()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".log.gz._S3rver_object") {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		packed, err := gzip.NewReader(f)
		if err != nil {
			return nil // it is still being written
		}
		n++
		for lines := bufio.NewReader(packed); ; {
			line, err := lines.ReadBytes('\n')
			if err == io.EOF {
				return nil
			}
			var one struct{ Metadata struct{ UID string } }
			if err == nil {
				err = json.Unmarshal(line, &one)
			}
			if err != nil {
				return err
			}
			b.took(one.Metadata.UID)
		}
	})
	if err != nil {
		b.t.Error(err)
	}
	return n
}

// TestBucket sends to an S3 server that is down at first and then refuses the key.
func TestBucket(t *testing.T) {
	program, err := filepath.Abs("../../testdata/npm/node_modules/.bin/s3rver")
	if err == nil {
		_, err = os.Stat(program)
	}
	if err != nil {
		t.Fatal(err)
	}
	b, dir := newBench(t), t.TempDir()
	file := filepath.Join(dir, "keys")
	key := func(id string) { // the server checks only the id
		t.Helper()
		if err := os.WriteFile(file, []byte("[default]\naws_access_key_id = "+id+"\naws_secret_access_key = S3RVER\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	key("wrong")
	address := addresses.Free(t, 1)[0]
	host, port, _ := strings.Cut(address, ":")
	c := Config{Name: "bucket", URL: "s3+http://" + address + "/trail/gate one?region=eu-central-1", Keys: file}
	e := b.export(c)
	stop := run(e)
	defer func() { stop() }()
	b.write(2 * maxRecords) // two full batches need not wait
	waits.Until(t, "trouble is told", func() bool { return b.trouble.Load() != "" })
	server := exec.Command(program, "--directory", filepath.Join(dir, "stored"), "--address", host, "--port", port, "--configure-bucket", "trail", "--silent")
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Process.Kill(); _ = server.Wait() }()
	waits.Until(t, "the key is refused", func() bool { return strings.Contains(b.trouble.Load().(string), "403") })
	key("S3RVER")
	waits.Until(t, "all has come", func() bool { return e.Behind.Load() == 0 && b.trouble.Load() == "" })
	if n := b.objects(filepath.Join(dir, "stored")); n != 2 {
		t.Errorf("there are %d objects, want one a batch", n)
	}
	if twice := b.all(); twice > 0 {
		t.Errorf("%d records are there twice", twice)
	}
	b.write(1)
	waits.Until(t, "it is seen", func() bool { return e.Behind.Load() > 0 })
	if n := b.objects(filepath.Join(dir, "stored")); n != 2 {
		t.Error("one record waits for no others")
	}
	stop()
	if err := os.Remove(e.State); err != nil { // as after a crash before it was written
		t.Fatal(err)
	}
	b.write(maxRecords - 1)
	again := b.export(c)
	stop = run(again)
	waits.Until(t, "it comes again, and the rest with it", func() bool { return again.Sent.Load() == 3*maxRecords && again.Behind.Load() == 0 })
	if n := b.objects(filepath.Join(dir, "stored")); n != 3 {
		t.Errorf("there are %d objects", n)
	}
	if twice := b.all(); twice > 0 {
		t.Errorf("%d records are there twice", twice)
	}
}
