package main

import (
	"archive/tar"
	"crypto/sha256"
	"errors"
	"io"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// errLicence is returned for a package whose licence has conditions that a trained table might not meet.
var errLicence = errors.New("licence")

var (
	restricted = regexp.MustCompile(`(?mi)^License:.*\b(A?GPL|LGPL|CC-BY-NC|proprietary)`)
	gplText    = regexp.MustCompile(`(?i)GNU (Lesser |Affero )?General Public License`)
	notSource  = regexp.MustCompile(`/test|_test\.|\.min\.js|/vendor/|zz_generated|\.pb\.go|\.d\.ts$`)
)

// maxSource bounds the size of a file, in bytes: larger ones are generated.
const maxSource = 600_000

// readPackage returns the pairs of a .deb package. It needs dpkg-deb.
func readPackage(deb string) ([]pair, error) {
	cmd := exec.Command("dpkg-deb", "--fsys-tarfile", deb)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	name, _, _ := strings.Cut(filepath.Base(deb), "_")
	found, err := readFiles(name, tar.NewReader(out))
	if _, drained := io.Copy(io.Discard, out); drained != nil {
		err = errors.Join(err, drained)
	}
	return found, errors.Join(err, cmd.Wait())
}

// readFiles returns the pairs of a package's files. The licence applies wherever it is in the archive.
func readFiles(name string, files *tar.Reader) (found []pair, err error) {
	for {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return nil, err
		}
		file := strings.ToLower(h.Name)
		extract := extractors[path.Ext(file)]
		copyright := path.Base(file) == "copyright"
		if h.Typeflag != tar.TypeReg || h.Size > maxSource || !copyright && (extract == nil || notSource.MatchString(file)) {
			continue
		}
		text, err := io.ReadAll(files)
		if err != nil {
			return nil, err
		}
		if copyright {
			if restricted.Match(text) || !strings.Contains(string(text), "License:") && gplText.Match(text) {
				return nil, errLicence
			}
			continue
		}
		for _, p := range extract(string(text)) {
			if p.usable() {
				p.Package = name
				found = append(found, p)
			}
		}
	}
}

// usable trims the pair and reports whether it says enough.
func (p *pair) usable() bool {
	p.Doc = strings.TrimSpace(p.Doc)
	p.Doc, p.Code = p.Doc[:min(len(p.Doc), 600)], p.Code[:min(len(p.Code), 2500)]
	return len(strings.Fields(p.Doc)) >= 3 && len(p.Code) >= 40
}

// key returns the same value for equal pairs.
func (p *pair) key() [32]byte {
	return sha256.Sum256([]byte(p.Doc[:min(len(p.Doc), 80)] + "\x00" + p.Code))
}
