package qr

// masks report whether a module is inverted.
var masks = [8]func(row, column int) bool{
	func(r, c int) bool { return (r+c)%2 == 0 },
	func(r, c int) bool { return r%2 == 0 },
	func(r, c int) bool { return c%3 == 0 },
	func(r, c int) bool { return (r+c)%3 == 0 },
	func(r, c int) bool { return (r/2+c/3)%2 == 0 },
	func(r, c int) bool { return r*c%2+r*c%3 == 0 },
	func(r, c int) bool { return (r*c%2+r*c%3)%2 == 0 },
	func(r, c int) bool { return ((r+c)%2+r*c%3)%2 == 0 },
}

// mask takes the mask with the least penalty.
func (c *Code) mask() {
	best := 0
	least := -1
	for i := range masks {
		c.turn(i)
		if p := c.penalty(); least < 0 || p < least {
			best = i
			least = p
		}
		c.turn(i) // back
	}
	c.turn(best)
}

// turn inverts the modules of a mask, and draws its number.
func (c *Code) turn(mask int) {
	for row := range c.size {
		for column := range c.size {
			if !c.fixed[row][column] && masks[mask](row, column) {
				c.dark[row][column] = !c.dark[row][column]
			}
		}
	}
	c.format(mask)
}

// penalty measures how hard the code is to read, by the four rules of the standard: modules in a row that are
// alike, squares of four, patterns that look like a finder, and more dark than light modules or fewer.
func (c *Code) penalty() (sum int) {
	dark := 0
	for a := range c.size {
		across := func(b int) bool { return c.dark[a][b] }
		down := func(b int) bool { return c.dark[b][a] }
		sum += rows(c.size, across) + rows(c.size, down)
		for b := range c.size {
			if c.dark[a][b] {
				dark++
			}
			if a > 0 && b > 0 && c.dark[a][b] == c.dark[a-1][b] &&
				c.dark[a][b] == c.dark[a][b-1] &&
				c.dark[a][b] == c.dark[a-1][b-1] {
				sum += 3
			}
		}
	}
	share := 100 * dark / (c.size * c.size)
	return sum + 10*(abs(share-50)/5)
}

// rows is the penalty of one row or column.
func rows(size int, dark func(int) bool) (sum int) {
	run := 0 // modules that are alike, up to here
	bits := 0
	for i := range size {
		if i > 0 && dark(i) == dark(i-1) {
			run++
		} else {
			run = 1
		}
		switch {
		case run == 5:
			sum += 3
		case run > 5:
			sum++
		}
		bits = bits << 1 & 0x7ff
		if dark(i) {
			bits |= 1
		}
		// 1011101, which is a finder's middle, with four light ones before or after it.
		if i >= 10 && (bits == 0b10111010000 || bits == 0b00001011101) {
			sum += 40
		}
	}
	return sum
}
