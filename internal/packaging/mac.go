package main

import (
	"bytes"
	"debug/macho"
	"encoding/binary"
	"fmt"
	"os"
)

// mac joins the binaries of both Mac architectures into a universal one, always in the same order.
func (r *release) mac() ([]byte, error) {
	const bits = 14 // both architectures load programs in pages of 16 KiB
	header := []uint32{macho.MagicFat, 0}
	var programs []byte
	for _, b := range r.builds {
		if b.os != "darwin" {
			continue
		}
		text, err := os.ReadFile(b.path)
		if err != nil {
			return nil, err
		}
		program, err := macho.NewFile(bytes.NewReader(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", b.path, err)
		}
		programs = append(programs, make([]byte, -len(programs)&(1<<bits-1))...)
		header[1]++
		header = append(header, uint32(program.Cpu), program.SubCpu, uint32(1<<bits+len(programs)), uint32(len(text)), bits)
		programs = append(programs, text...)
	}
	out, err := binary.Append(nil, binary.BigEndian, header)
	if err != nil {
		return nil, err
	}
	out = append(out, make([]byte, 1<<bits-len(out))...)
	return append(out, programs...), nil
}
