package qr

import (
	"bytes"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var codes = flag.Int("codes", 60, "how many codes a real decoder reads")

// picture draws a code with so many dots a module.
func picture(c *Code, dots int) []byte {
	side := (c.size + 2*quiet) * dots
	img := image.NewGray(image.Rect(0, 0, side, side))
	for y := range side {
		for x := range side {
			row := y/dots - quiet
			column := x/dots - quiet
			in := row >= 0 && column >= 0 && row < c.size && column < c.size
			img.SetGray(x, y, color.Gray{255})
			if in && c.dark[row][column] {
				img.SetGray(x, y, color.Gray{0})
			}
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// Decision ticket.code: what is drawn, a real decoder reads: texts of every length there is room for, and
// as ticket codes are.
func TestARealDecoderReadsTheCodes(t *testing.T) {
	if _, err := exec.LookPath("zbarimg"); err != nil {
		t.Log("zbarimg is not here, and no code is read with it")
		return
	}
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	r := rand.New(rand.NewPCG(1, 2))
	dir := t.TempDir()
	var want []string
	args := []string{"-q", "--raw", "-S*.disable", "-Sqrcode.enable"}
	longest := versions[len(versions)-1].capacity(len(versions))
	for n := range *codes {
		text := "WB1."
		length := 132
		if n%2 == 1 {
			length = len(text) + n*7%(longest-len(text)+1)
		}
		for len(text) < length {
			text += string(letters[r.IntN(len(letters))])
		}
		c, err := Encode(text)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(dir, fmt.Sprintf("%05d.png", n))
		if err := os.WriteFile(name, picture(c, 3), 0o600); err != nil {
			t.Fatal(err)
		}
		want = append(want, text)
		args = append(args, name)
	}
	out, err := exec.Command("zbarimg", args...).Output()
	got := strings.Split(strings.TrimSpace(string(out)), "\n")
	if err != nil || len(got) != len(want) {
		t.Fatalf("%d codes are read of %d: %v", len(got), len(want), err)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("code %d is read as %q, want %q", i, got[i], want[i])
		}
	}
}

// The bytes of the standard's own example, 01234567 in version 1 at level M (ISO/IEC 18004, annex I), with
// the error correction that it gives.
func TestErrorCorrectionOfTheStandard(t *testing.T) {
	data := []byte{
		0x10,
		0x20,
		0x0c,
		0x56,
		0x61,
		0x80,
		0xec,
		0x11,
		0xec,
		0x11,
		0xec,
		0x11,
		0xec,
		0x11,
		0xec,
		0x11,
	}
	want := []byte{0xa5, 0x24, 0xd4, 0xc1, 0xed, 0x36, 0xc7, 0x87, 0x2c, 0x55}
	if got := correction(data, 10); !bytes.Equal(got, want) {
		t.Errorf("% x, want % x", got, want)
	}
}

// A text that there is no room for is an error, and one that just fits is not.
func TestRoom(t *testing.T) {
	longest := versions[len(versions)-1].capacity(len(versions))
	if longest != 213 {
		t.Errorf("there is room for %d bytes", longest)
	}
	for length, size := range map[int]int{0: 21, 14: 21, 15: 25, 132: 49, 152: 49, 153: 53, longest: 57} {
		c, err := Encode(strings.Repeat("x", length))
		if err != nil || c.size != size {
			t.Errorf("%d bytes: %v, %+v", length, err, c)
		}
	}
	if _, err := Encode(strings.Repeat("x", longest+1)); err == nil {
		t.Error("there is a code of a text that it has no room for")
	}
}
