package rag

import (
	"math"
	"math/bits"
)

// vectors holds the unit vectors of a segment's rows, one byte per number, and a sketch of each: the signs after a
// random rotation. The wider the angle, the more bits two sketches differ in. So they find the rows that deserve an
// exact comparison at a hundredth of the cost.
type vectors struct {
	Dim      int
	Values   []byte    // int8, row by row; gob is fast with bytes
	Scales   []float32 // 0: the row has no vector
	Sketches []uint64  // row by row, sketchWords(Dim) each
}

func (m *vectors) len() int { return len(m.Scales) }

// append adds v, a unit vector, or a row without a vector if v is nil.
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

// fit releases spare capacity: vectors take most of an index's memory.
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

// distances writes to out the number of bits in which each row's sketch differs from sketch.
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

// sketchBits returns the number of bits of a sketch: the power of two that holds dim, at least one word.
func sketchBits(dim int) int { return max(64, 1<<bits.Len(uint(dim-1))) }

func sketchWords(dim int) int { return sketchBits(dim) / 64 }

// appendSketch appends the signs of v after a rotation. The rotation is two rounds of fixed random sign flips and a
// Walsh-Hadamard transform, which spread every coordinate over all of them.
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

// valid reports whether the numbers are consistent, so that no lookup can fail.
func (m *vectors) valid() bool {
	n := len(m.Scales)
	return m.Dim > 0 && m.Dim <= maxDim && len(m.Values) == n*m.Dim && len(m.Sketches) == n*sketchWords(m.Dim)
}

// maxDim bounds the dimension of an embedder.
const maxDim = 8192
