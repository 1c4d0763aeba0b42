package qr

// version is the layout of the bytes of a version, at level M.
type version struct {
	check     int    // bytes of error correction in each block
	blocks    [2]int // how many blocks there are, the shorter ones first
	short     int    // bytes of data in a shorter one; the others have one more
	alignment []int  // rows and columns of the small squares
}

// versions are those from 1 to 10 (ISO/IEC 18004, tables 9 and E.1).
var versions = []version{
	{10, [2]int{1, 0}, 16, nil},
	{16, [2]int{1, 0}, 28, []int{6, 18}},
	{26, [2]int{1, 0}, 44, []int{6, 22}},
	{18, [2]int{2, 0}, 32, []int{6, 26}},
	{24, [2]int{2, 0}, 43, []int{6, 30}},
	{16, [2]int{4, 0}, 27, []int{6, 34}},
	{18, [2]int{4, 0}, 31, []int{6, 22, 38}},
	{22, [2]int{2, 2}, 38, []int{6, 24, 42}},
	{22, [2]int{3, 2}, 36, []int{6, 26, 46}},
	{26, [2]int{4, 1}, 43, []int{6, 28, 50}},
}

// room returns how many bytes of data there are.
func (v *version) room() int {
	return v.blocks[0]*v.short + v.blocks[1]*(v.short+1)
}

// lengthBits returns how many bits hold the length of a text.
func lengthBits(number int) int {
	if number < 10 {
		return 8
	}
	return 16
}

// capacity returns how many bytes of text there is room for, after the mode and the length.
func (v *version) capacity(number int) int {
	return (8*v.room() - 4 - lengthBits(number)) / 8
}

// data returns the bytes of a text: the mode, the length, the text, an end, and filler.
func (v *version) data(number int, text string) []byte {
	const byteMode = 0b0100
	var bits []bool
	add := func(value, n int) {
		for i := n - 1; i >= 0; i-- {
			bits = append(bits, value>>i&1 == 1)
		}
	}
	add(byteMode, 4)
	add(len(text), lengthBits(number))
	for i := range len(text) {
		add(int(text[i]), 8)
	}
	add(0, min(4, 8*v.room()-len(bits)))
	for len(bits)%8 > 0 {
		bits = append(bits, false)
	}
	for fill := 0xEC; len(bits) < 8*v.room(); fill ^= 0xEC ^ 0x11 {
		add(fill, 8)
	}
	bytes := make([]byte, len(bits)/8)
	for i, bit := range bits {
		if bit {
			bytes[i/8] |= 1 << (7 - i%8)
		}
	}
	return bytes
}

// interleave splits the data into blocks, adds the error correction of each, and returns the first byte of
// each block, then the second, and so on: a spot hits all blocks a little and none much.
func (v *version) interleave(data []byte) (all []byte) {
	var blocks, checks [][]byte
	for i := range v.blocks[0] + v.blocks[1] {
		n := v.short
		if i >= v.blocks[0] {
			n++
		}
		blocks = append(blocks, data[:n])
		checks = append(checks, correction(data[:n], v.check))
		data = data[n:]
	}
	for i := range v.short + 1 {
		for _, block := range blocks {
			if i < len(block) {
				all = append(all, block[i])
			}
		}
	}
	for i := range v.check {
		for _, check := range checks {
			all = append(all, check[i])
		}
	}
	return all
}

// correction returns the n bytes of Reed and Solomon's error correction: the remainder of the data, as a
// polynomial, by the one whose roots are the first n powers of 2 (ISO/IEC 18004, 7.5).
func correction(data []byte, n int) []byte {
	divisor := make([]byte, n) // without its first coefficient, which is 1
	divisor[n-1] = 1
	root := byte(1)
	for range n {
		for i := range divisor {
			divisor[i] = times(divisor[i], root)
			if i+1 < n {
				divisor[i] ^= divisor[i+1]
			}
		}
		root = times(root, 2)
	}
	rest := make([]byte, n)
	for _, b := range data {
		factor := b ^ rest[0]
		copy(rest, rest[1:])
		rest[n-1] = 0
		for i := range rest {
			rest[i] ^= times(divisor[i], factor)
		}
	}
	return rest
}

// times multiplies in the field of 256 elements that the standard names: polynomials over bits, by
// x⁸+x⁴+x³+x²+1.
func times(a, b byte) (product byte) {
	for i := 7; i >= 0; i-- {
		carry := product >> 7
		product = product<<1 ^ carry*0x1d
		product ^= b >> i & 1 * a
	}
	return product
}
