package checkpoint

import (
	"errors"
	"fmt"
	"io"
)

// Check checks the segments that nobody writes, and returns what is wrong with each: it is empty, cut or replaced. With
// contents it reads all contents; otherwise those are only checked when they are used.
func (s *Store) Check(contents bool) (problems []string, err error) {
	all, err := s.volume.list()
	if err != nil {
		return nil, err
	}
	for _, one := range all {
		s.mu.Lock() // which segments this process holds may change
		free, err := s.volume.free(one.name)
		s.mu.Unlock()
		switch {
		case err != nil:
			problems = append(problems, fmt.Sprintf("the checkpoints in %s cannot be checked: %v", one.name, err))
			continue
		case !free:
			continue
		}
		r, err := s.volume.open(one.name)
		if err != nil {
			problems = append(problems, fmt.Sprintf("the checkpoints in %s cannot be read: %v", one.name, err))
			continue
		}
		at := int64(0)
		for {
			h, err := readHeader(r, at, one.size)
			if err != nil {
				if !errors.Is(err, io.EOF) {
					problems = append(problems, fmt.Sprintf("the checkpoints in %s cannot be read: %v", one.name, err))
				}
				break
			}
			if contents {
				if err := checkPayload(r, at, h); err != nil {
					problems = append(problems, fmt.Sprintf("%s: %v: what it holds cannot be restored", one.name, err))
				}
			}
			at += headerSize + h.size
		}
		if at < one.size || one.size == 0 {
			problems = append(problems, fmt.Sprintf("%s is damaged from byte %d of %d on: checkpoints in it are lost", one.name, at, one.size))
		}
		if err := r.Close(); err != nil {
			return problems, err
		}
	}
	return problems, nil
}
