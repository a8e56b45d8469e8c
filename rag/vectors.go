package rag

import (
	"math"
	"math/bits"
)

// vectors are the unit vectors of a segment's rows, a byte for each number, with a sketch of each: the signs
// after a random rotation. Sketches differ in as many bits as the angle is wide, which finds the rows worth an
// exact look at a hundredth of the cost.
type vectors struct {
	Dim      int
	Values   []byte    // int8, row by row; gob is fast with bytes
	Scales   []float32 // 0: the row has no vector
	Sketches []uint64  // row by row, sketchWords(Dim) each
}

func (m *vectors) len() int { return len(m.Scales) }

// append adds v, a unit vector or nil for none.
func (m *vectors) append(v []float32) {
	if len(v) != m.Dim {
		v = make([]float32, m.Dim)
	}
	var peak float32
	for _, x := range v {
		peak = max(peak, x, -x)
	}
	m.Scales = append(m.Scales, peak/127)
	for _, x := range v {
		if peak > 0 {
			x = x / peak * 127
		}
		m.Values = append(m.Values, byte(int8(math.Round(float64(x)))))
	}
	m.Sketches = appendSketch(m.Sketches, v)
}

// fit gives up the room that appending left: vectors are most of an index's memory.
func (m *vectors) fit() {
	m.Values = append(make([]byte, 0, len(m.Values)), m.Values...)
	m.Scales = append(make([]float32, 0, len(m.Scales)), m.Scales...)
	m.Sketches = append(make([]uint64, 0, len(m.Sketches)), m.Sketches...)
}

// appendRow copies row i of from.
func (m *vectors) appendRow(from *vectors, i int) {
	words := sketchWords(m.Dim)
	m.Scales = append(m.Scales, from.Scales[i])
	m.Values = append(m.Values, from.Values[i*m.Dim:(i+1)*m.Dim]...)
	m.Sketches = append(m.Sketches, from.Sketches[i*words:(i+1)*words]...)
}

// cosine returns the similarity of row i and the unit vector q.
func (m *vectors) cosine(i int, q []float32) float32 {
	row := m.Values[i*m.Dim:][:len(q)]
	var s0, s1, s2, s3 float32
	for len(q) >= 4 && len(row) >= 4 {
		s0 += q[0] * float32(int8(row[0]))
		s1 += q[1] * float32(int8(row[1]))
		s2 += q[2] * float32(int8(row[2]))
		s3 += q[3] * float32(int8(row[3]))
		q, row = q[4:], row[4:]
	}
	for j, x := range q {
		s0 += x * float32(int8(row[j]))
	}
	return (s0 + s1 + s2 + s3) * m.Scales[i]
}

// distances writes to out in how many bits each row's sketch differs from sketch.
func (m *vectors) distances(sketch []uint64, out []uint16) {
	if len(sketch) == 4 { // 256 dimensions: the built-in table
		a, b, c, d := sketch[0], sketch[1], sketch[2], sketch[3]
		for i := range out {
			s := m.Sketches[4*i:][:4]
			out[i] = uint16(bits.OnesCount64(s[0]^a) + bits.OnesCount64(s[1]^b) + bits.OnesCount64(s[2]^c) + bits.OnesCount64(s[3]^d))
		}
		return
	}
	for i := range out {
		n := 0
		for j, w := range m.Sketches[i*len(sketch):][:len(sketch)] {
			n += bits.OnesCount64(w ^ sketch[j])
		}
		out[i] = uint16(n)
	}
}

// sketchBits is the number of bits of a sketch: the power of two that holds dim, and whole words.
func sketchBits(dim int) int { return max(64, 1<<bits.Len(uint(dim-1))) }

func sketchWords(dim int) int { return sketchBits(dim) / 64 }

// appendSketch appends the signs of v after a rotation: fixed random sign flips and a Walsh-Hadamard transform,
// twice, which spreads every coordinate over all of them.
func appendSketch(dst []uint64, v []float32) []uint64 {
	n := sketchBits(len(v))
	x := make([]float32, n)
	copy(x, v)
	seed := uint64(0x9E3779B97F4A7C15)
	for range 2 {
		for i := range x {
			seed ^= seed << 13
			seed ^= seed >> 7
			seed ^= seed << 17
			if seed&1 != 0 {
				x[i] = -x[i]
			}
		}
		for h := 1; h < n; h *= 2 {
			for i := 0; i < n; i += 2 * h {
				for j := i; j < i+h; j++ {
					x[j], x[j+h] = x[j]+x[j+h], x[j]-x[j+h]
				}
			}
		}
	}
	for i := 0; i < n; i += 64 {
		var word uint64
		for j, y := range x[i : i+64] {
			if y > 0 {
				word |= 1 << j
			}
		}
		dst = append(dst, word)
	}
	return dst
}

// valid reports whether the numbers fit together, so that no look-up can fail.
func (m *vectors) valid() bool {
	n := len(m.Scales)
	return m.Dim > 0 && m.Dim <= maxDim && len(m.Values) == n*m.Dim && len(m.Sketches) == n*sketchWords(m.Dim)
}

// maxDim bounds what an embedder may return.
const maxDim = 8192
