package audit

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"pgregory.net/rapid"
)

// three makes a folder with three logs: closed, sealed and killed.
func three(t testing.TB) (dir string) {
	t.Helper()
	dir = t.TempDir()
	kill := func() {
		l, err := Open(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		appendN(t, l, 4)
		l.vouch()
		appendN(t, l, 2)
		close(l.stop)
		<-l.done
		l.segment.file.Close()
		l.segment.lock.Close()
	}
	kill()
	write(t, dir, 5)
	kill()
	return dir
}

func logNames(t testing.TB, dir string) []string {
	t.Helper()
	ends, err := logEnds(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, end := range ends {
		names = append(names, end.name)
	}
	return names
}

func TestVerifyTellsHowLogsEnded(t *testing.T) {
	dir := three(t)
	r := verify(t, dir)
	if r.Records != 17 {
		t.Errorf("%d records, want 17", r.Records)
	}
	want := []LogReport{
		{State: Sealed, Records: 6, Vouched: 6},
		{State: Closed, Records: 5, Vouched: 5},
		{State: Killed, Records: 6, Vouched: 4},
	}
	for i, got := range r.Logs {
		if got.Good.Seq != uint64(got.Records) || got.Good.File != got.File || !isHash(got.Good.Hash) {
			t.Errorf("%s is good up to %v", got.File, got.Good)
		}
		got.File, got.Good = "", Head{}
		if got != want[i] {
			t.Errorf("log %d: %+v, want %+v", i, got, want[i])
		}
	}
	l, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	appendN(t, l, 1)
	r = verify(t, dir)
	if r.Logs[2].State != Sealed || r.Logs[3].State != Writing {
		t.Errorf("the killed log is %s, the open one %s", r.Logs[2].State, r.Logs[3].State)
	}
}

func TestVerifyOfNothing(t *testing.T) {
	r, err := Verify(filepath.Join(t.TempDir(), "none"))
	if err != nil || !r.OK() || len(r.Logs) != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// edit rewrites one file.
func edit(t testing.TB, path string, change func([]byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, change(b), 0o600); err != nil {
		t.Fatal(err)
	}
}

func onLines(change func(lines []string) []string) func([]byte) []byte {
	return func(b []byte) []byte {
		lines := strings.SplitAfter(string(b), "\n")
		return []byte(strings.Join(change(lines[:len(lines)-1]), ""))
	}
}

// reseal gives a changed line the right hash.
func reseal(line string) string {
	i := strings.LastIndex(line, hashMember)
	sealed, _ := appendSealed([]byte(line[:i]))
	return string(sealed)
}

// forge rewrites the chain of a log after a change of one record, as an attacker who knows the format would.
func forge(lines []string) []string {
	for i := range lines {
		if i > 0 {
			before, _ := checkSealed([]byte(strings.TrimSuffix(lines[i-1], "\n")))
			at := strings.LastIndex(lines[i], `,"prev":"`) + len(`,"prev":"`)
			lines[i] = lines[i][:at] + before + lines[i][at+hashSize:]
		}
		lines[i] = reseal(lines[i])
	}
	return lines
}

func TestTampering(t *testing.T) {
	changeDecision := func(line string) string {
		return strings.Replace(line, `"auto_approved"`, `"approved"`, 1)
	}
	const sealed, closed, killed = 0, 1, 2 // indices of three's logs
	onLog := func(i int, change func(lines []string) []string) func(*testing.T, string, []string) {
		return func(t *testing.T, dir string, logs []string) { edit(t, filepath.Join(dir, logs[i]), onLines(change)) }
	}
	onManifest := func(change func(lines []string) []string) func(*testing.T, string, []string) {
		return func(t *testing.T, dir string, _ []string) {
			edit(t, filepath.Join(dir, manifestName), onLines(change))
		}
	}
	for _, tt := range []struct {
		name   string
		tamper func(t *testing.T, dir string, logs []string)
		file   int // index of the broken log; -1: the manifest
		line   int
		seq    uint64
		why    Why
	}{
		{"edit", onLog(closed, func(l []string) []string { l[2] = changeDecision(l[2]); return l }), closed, 3, 3, WhyHash},
		{"edit and give it its hash", onLog(closed, func(l []string) []string { l[2] = reseal(changeDecision(l[2])); return l }), closed, 4, 4, WhyChain},
		{"edit the last and give it its hash", onLog(closed, func(l []string) []string { l[4] = reseal(changeDecision(l[4])); return l }), closed, 5, 5, WhyManifest},
		{"edit and write the chain anew", onLog(closed, func(l []string) []string { l[2] = changeDecision(l[2]); return forge(l) }), closed, 5, 5, WhyManifest},
		{"the same in a killed log, before its last head", onLog(killed, func(l []string) []string { l[0] = changeDecision(l[0]); return forge(l) }), killed, 4, 4, WhyManifest},
		{"skip a number", onLog(killed, func(l []string) []string {
			l[5] = reseal(strings.Replace(l[5], `"seq":6`, `"seq":7`, 1))
			return l
		}), killed, 6, 6, WhyChain},
		{"delete a line", onLog(closed, func(l []string) []string { return slices.Delete(l, 1, 2) }), closed, 2, 2, WhyChain},
		{"delete the first line", onLog(closed, func(l []string) []string { return l[1:] }), closed, 1, 1, WhyChain},
		{"swap lines", onLog(closed, func(l []string) []string { l[1], l[2] = l[2], l[1]; return l }), closed, 2, 2, WhyChain},
		{"repeat a line", onLog(closed, func(l []string) []string { return slices.Insert(l, 2, l[1]) }), closed, 3, 3, WhyChain},
		{"insert garbage", onLog(closed, func(l []string) []string { return slices.Insert(l, 2, "garbage\n") }), closed, 3, 3, WhyHash},
		{"insert an empty line", onLog(closed, func(l []string) []string { return slices.Insert(l, 2, "\n") }), closed, 3, 3, WhyHash},
		{"cut a closed log", onLog(closed, func(l []string) []string { return l[:4] }), closed, 5, 5, WhyTruncated},
		{"cut a sealed log", onLog(sealed, func(l []string) []string { return l[:5] }), sealed, 6, 6, WhyTruncated},
		{"cut a killed log before its last head", onLog(killed, func(l []string) []string { return l[:3] }), killed, 4, 4, WhyTruncated},
		{"empty a log", onLog(closed, func([]string) []string { return nil }), closed, 1, 1, WhyTruncated},
		{"cut within a line of a closed log", onLog(closed, func(l []string) []string { l[4] = l[4][:40]; return l }), closed, 5, 5, WhyHash},
		{"cut the newline of a closed log", onLog(closed, func(l []string) []string { l[4] = strings.TrimSuffix(l[4], "\n"); return l }), closed, 5, 5, WhyHash},
		{"no beginning of a line after a killed log", onLog(killed, func(l []string) []string { return append(l, "rubbish") }), killed, 7, 7, WhyHash},
		{"the beginning of another line after a killed log", onLog(killed, func(l []string) []string { return append(l, `{"seq":9,"time"`) }), killed, 7, 7, WhyHash},
		{"space after a killed log", onLog(killed, func(l []string) []string { l[5] = strings.TrimSuffix(l[5], "\n") + " "; return l }), killed, 6, 6, WhyHash},
		{"append to a closed log", func(t *testing.T, dir string, logs []string) {
			edit(t, filepath.Join(dir, logs[closed]), onLines(func(l []string) []string {
				more := strings.Replace(l[4], `"seq":5`, `"seq":6`, 1)
				l = append(l, more)
				return append(l[:5:5], forge(l[4:])[1])
			}))
		}, closed, 6, 6, WhyChain},
		{"swap two logs", func(t *testing.T, dir string, logs []string) {
			a, b := filepath.Join(dir, logs[sealed]), filepath.Join(dir, logs[closed])
			for _, move := range [][2]string{{a, a + "x"}, {b, a}, {a + "x", b}} {
				if err := os.Rename(move[0], move[1]); err != nil {
					t.Fatal(err)
				}
			}
		}, sealed, 1, 1, WhyChain},
		{"delete a log", func(t *testing.T, dir string, logs []string) {
			if err := os.Remove(filepath.Join(dir, logs[killed])); err != nil {
				t.Fatal(err)
			}
		}, killed, 0, 1, WhyMissing},
		{"edit the manifest", onManifest(func(l []string) []string {
			l[1] = strings.Replace(l[1], `"records":4`, `"records":3`, 1)
			return l
		}), -1, 2, 2, WhyHash},
		{"delete a manifest entry", onManifest(func(l []string) []string { return slices.Delete(l, 1, 2) }), -1, 2, 2, WhyChain},
		{"delete the manifest's first entry", onManifest(func(l []string) []string { return l[1:] }), -1, 1, 1, WhyChain},
		{"delete the manifest", func(t *testing.T, dir string, _ []string) {
			if err := os.Remove(filepath.Join(dir, manifestName)); err != nil {
				t.Fatal(err)
			}
		}, sealed, 0, 0, WhyManifest},
		{"cut the manifest to lose a log", func(t *testing.T, dir string, logs []string) {
			onManifest(func(l []string) []string { return l[:5] })(t, dir, logs)
		}, killed, 0, 0, WhyManifest},
		{"write the manifest anew without a log", func(t *testing.T, dir string, logs []string) {
			onManifest(func(l []string) []string {
				l = slices.DeleteFunc(l, func(line string) bool { return strings.Contains(line, logs[closed]) })
				for i := range l {
					var e entry
					if err := json.Unmarshal([]byte(l[i]), &e); err != nil {
						t.Fatal(err)
					}
					l[i] = strings.Replace(l[i], `"seq":`+l[i][7:8], `"seq":`+string(rune('1'+i)), 1)
				}
				return forge(l)
			})(t, dir, logs)
			if err := os.Remove(filepath.Join(dir, logs[closed])); err != nil {
				t.Fatal(err)
			}
		}, killed, 1, 1, WhyChain}, // the later log's first record follows the true manifest
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := three(t)
			logs := logNames(t, dir)
			tt.tamper(t, dir, logs)
			r, err := Verify(dir)
			if err != nil {
				t.Fatal(err)
			}
			file := manifestName
			if tt.file >= 0 {
				file = logs[tt.file]
			}
			b, broken := r.First()
			if !broken || b.File != file || b.Line != tt.line || b.Seq != tt.seq || b.Why != tt.why {
				t.Errorf("first break: %v\nwant %s line %d record %d: %s", b, file, tt.line, tt.seq, tt.why)
			}
			for _, log := range r.Logs {
				if log.File == file && tt.seq > 0 && log.Good.Seq != tt.seq-1 && tt.why != WhyManifest {
					t.Errorf("complete up to %d, want %d", log.Good.Seq, tt.seq-1)
				}
			}
		})
	}
}

func TestTornTailIsNotTampering(t *testing.T) {
	for _, keep := range []int{1, 7, 9, 30, 200, -1} {
		dir := three(t)
		path := filepath.Join(dir, logNames(t, dir)[2])
		edit(t, path, onLines(func(l []string) []string {
			if keep < 0 {
				keep = len(l[5]) - 1
			}
			l[5] = l[5][:keep]
			return l
		}))
		for _, state := range []State{Killed, Sealed} {
			r := verify(t, dir)
			if log := r.Logs[2]; log.State != state || log.Torn != keep || log.Records != 5 {
				t.Errorf("%d bytes left: %+v, want %s", keep, log, state)
			}
			write(t, dir, 1)
		}
	}
}

func TestTornManifestIsMended(t *testing.T) {
	dir := three(t)
	edit(t, filepath.Join(dir, manifestName), func(b []byte) []byte { return append(b, `{"seq":8,"ti`...) })
	verify(t, dir)
	write(t, dir, 1)
	if r := verify(t, dir); len(r.Logs) != 4 {
		t.Errorf("%d logs, want 4", len(r.Logs))
	}
}

// TestDamagedManifestGoesOn checks that a damaged manifest stops nobody, and that its damage stays visible.
func TestDamagedManifestGoesOn(t *testing.T) {
	for name, damage := range map[string]func([]byte) []byte{
		"a bit":           func(b []byte) []byte { b[len(b)-100] ^= 1; return b },
		"another line":    func(b []byte) []byte { return append(b, "x\n"...) },
		"three lines":     func(b []byte) []byte { return append(b, "\n\x00\xff\n{}\n"...) },
		"no end of line":  func(b []byte) []byte { return append(b, "not an entry"...) },
		"nothing left":    func(b []byte) []byte { return bytes.Repeat([]byte{0xfe}, len(b)) },
		"both":            func(b []byte) []byte { return append(b, "{}\nrubbish"...) },
		"a line too much": func(b []byte) []byte { return append(b, b[bytes.LastIndexByte(b[:len(b)-1], '\n')+1:len(b)-2]...) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := three(t)
			path := filepath.Join(dir, manifestName)
			edit(t, path, damage)
			damaged, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			write(t, dir, 2)
			after, err := os.ReadFile(path)
			if err != nil || !bytes.HasPrefix(after, damaged) {
				t.Errorf("the damaged lines are gone (%v)", err)
			}
			report, err := Verify(dir)
			if first, broken := report.First(); err != nil || !broken || first.File != manifestName {
				t.Errorf("Verify finds %v, %v", report.Breaks, err)
			}
			if last := report.Logs[len(report.Logs)-1]; last.Records != 3 || last.State != Closed || last.Break != nil {
				t.Errorf("the log behind the damage: %+v", last)
			}
			var told int
			for r, err := range Read(dir, Filter{}) {
				if err == nil && strings.Contains(r.Summary, "damaged lines") {
					told++
				}
			}
			if told != 1 {
				t.Errorf("%d records tell of the damage, want 1", told)
			}
			later := report.Manifest
			write(t, dir, 1)
			if report, err := Verify(dir, later); err != nil || len(report.Breaks) != len(mustVerify(t, dir).Breaks) {
				t.Errorf("a head behind the damage does not fit: %v, %v", report.Breaks, err)
			}

			// Without the damaged lines, the entries after them are in the wrong place.
			edit(t, path, func(b []byte) []byte {
				good := slices.DeleteFunc(bytes.SplitAfter(b, []byte("\n")), func(line []byte) bool {
					_, err := decodeEntry(bytes.TrimSuffix(line, []byte("\n")))
					return err != nil
				})
				return bytes.Join(good, nil)
			})
			if mustVerify(t, dir).OK() {
				t.Error("without the damaged lines the manifest is taken for whole")
			}
		})
	}
}

func mustVerify(t *testing.T, dir string) *Report {
	t.Helper()
	r, err := Verify(dir)
	if err != nil {
		t.Fatal(err)
	}
	return &r
}

func TestAnchoredHeadsCatchWhatTheManifestCannot(t *testing.T) {
	dir := t.TempDir()
	var heads []Head
	l, err := Open(dir, Options{Anchor: func(h Head) { heads = append(heads, h) }})
	if err != nil {
		t.Fatal(err)
	}
	written := appendN(t, l, 3)
	name := filepath.Base(onlyLog(t, dir))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	heads = append(heads, Head{File: name, Seq: 2, Hash: written[1].Hash})
	for _, h := range heads {
		back, err := ParseHead(h.String())
		if err != nil || back != h {
			t.Errorf("ParseHead(%q) = %v, %v", h, back, err)
		}
	}
	verify(t, dir, heads...)

	// A perfect forgery: everything is removed, and a new log begins.
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	write(t, dir, 3)
	verify(t, dir)
	for _, h := range heads {
		if r, err := Verify(dir, h); err != nil || r.OK() {
			t.Errorf("the head %v is not missed: %v", h, err)
		}
	}
	for _, bad := range []string{"", "x:1:2", name + ":1", name + ":x:" + written[0].Hash, "../x:1:" + written[0].Hash, name + ":1:" + strings.ToUpper(written[0].Hash) + "A"} {
		if h, err := ParseHead(bad); err == nil {
			t.Errorf("ParseHead(%q) = %v", bad, h)
		}
	}
}

// TestNoByteChangesUnnoticed checks that Verify accepts what Append writes, and notices a change of any single byte.
func TestNoByteChangesUnnoticed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "audit")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		l, err := Open(dir, Options{MaxFile: int64(rapid.IntRange(500, 5000).Draw(t, "MaxFile"))})
		if err != nil {
			t.Fatal(err)
		}
		text := rapid.String()
		for range rapid.IntRange(1, 6).Draw(t, "records") {
			_, err := l.Append(Record{
				Event: Event(text.Draw(t, "event")), CallID: text.Draw(t, "callId"), Summary: text.Draw(t, "summary"),
				Arguments: rapid.SliceOf(rapid.Byte()).Draw(t, "arguments"),
				Subjects:  []Subject{{Tool: text.Draw(t, "tool"), Value: text.Draw(t, "value")}},
				Duration:  rapid.Float64().Draw(t, "duration"),
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if rapid.Bool().Draw(t, "closed") {
			err = l.Close()
		} else {
			close(l.stop)
			<-l.done
			l.segment.file.Close()
			err = l.segment.lock.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		if r, err := Verify(dir); err != nil || !r.OK() {
			t.Fatalf("untouched: %v %v", r.Breaks, err)
		}
		names := []string{manifestName}
		ends, err := logEnds(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, end := range ends {
			if end.size > 0 {
				names = append(names, end.name)
			}
		}
		for range 20 {
			path := filepath.Join(dir, rapid.SampledFrom(names).Draw(t, "file"))
			original, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			changed := bytes.Clone(original)
			at := rapid.IntRange(0, len(changed)-1).Draw(t, "at")
			if rapid.IntRange(0, 3).Draw(t, "last") == 0 {
				at = len(changed) - 1 // the newline is the only byte without a hash
			}
			changed[at] ^= rapid.ByteRange(1, 255).Draw(t, "flip")
			if err := os.WriteFile(path, changed, 0o600); err != nil {
				t.Fatal(err)
			}
			if r, err := Verify(dir); err == nil && r.OK() {
				t.Errorf("byte %d of %s: %q became %q unnoticed", at, filepath.Base(path), original[at], changed[at])
			}
			if err := os.WriteFile(path, original, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	})
}
