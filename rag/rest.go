package rag

import "errors"

// Rest gives the memory of mapped files back to the system, for an index that is not searched for a while. A
// search maps them again, from the system's cache as long as it has them.
func (x *Index) Rest() error {
	s, err := x.acquire()
	if err != nil {
		return err
	}
	for i := range s.parts {
		err = errors.Join(err, s.parts[i].words.Rest())
	}
	return errors.Join(err, s.release())
}
