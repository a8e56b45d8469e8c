package app

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/synctest"
)

func TestSpool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		s := newSpool(w)
		for range spooledLines + 10 {
			if n, err := s.Write([]byte("line\n")); n != 5 || err != nil {
				t.Fatal(n, err)
			}
		}
		synctest.Wait()
		var got bytes.Buffer
		go func() { _, _ = io.Copy(&got, r) }()
		if err := s.close(); err != nil {
			t.Fatal(err)
		}
		w.Close()
		synctest.Wait()
		kept := strings.Count(got.String(), "line\n")
		if !strings.Contains(got.String(), "log lines were dropped here") || kept < spooledLines || kept >= spooledLines+10 {
			t.Errorf("%d lines were kept, and the end is %q", kept, got.String()[max(0, got.Len()-200):])
		}
	})
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		s := newSpool(w)
		if _, err := s.Write([]byte("line\n")); err != nil {
			t.Fatal(err)
		}
		if err := s.close(); err != nil { // it ends although nobody reads
			t.Fatal(err)
		}
		r.Close()
		<-s.ended
	})
}
