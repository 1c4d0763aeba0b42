package chain

import (
	"encoding/json"
	"strings"
	"testing"
)

// jsonSeeds have every form of JSON, and what comes close to one.
var jsonSeeds = []string{
	`{"hash":"00","seq":1,"data":{"a":[1,-2.5e+7,true,false,null,{}],"b":"\u00e9\"\\\/\b\f\n\r\t"},"c":[]}`,
	` [ { "a" : [ ] , "b" : 0 } , "é" , 1E9 , -0.0 ] `,
	`{"a":1}{}`, `{"a":1,}`, `[1,]`, `{,}`, `{"a"}`, `{a:1}`, `{"a":}`, `{"a" 1}`, `[1 2]`, `nul`,
	`tru`, `-`, `01`, `1.`, `.5`, `1e`, `1e+`, `+1`,
	`"\x"`, `"\u12g4"`, `"\u12"`, `"\`, `"`, "\"\x1f\"", "\"\xff\x7f\"", "\x00", "", " ",
	"\ufeff{}", "{}\v", `{"a":1]`, `[1}`, `{"a":"b","a":"b"}`, `"\ud800"`, `{"\u0041":1}`,
}

// FuzzValid: it says what encoding/json says.
func FuzzValid(f *testing.F) {
	for _, seed := range jsonSeeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if got, want := valid(text), json.Valid(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	})
}

// TestValidWhenChanged: it says what encoding/json says of every seed with each of its bytes missing, and
// with each replaced by every other byte.
func TestValidWhenChanged(t *testing.T) {
	for _, seed := range jsonSeeds {
		for at := range len(seed) {
			compareValid(t, []byte(seed[:at]+seed[at+1:]))
			text := []byte(seed)
			for b := range 256 {
				text[at] = byte(b)
				compareValid(t, text)
			}
		}
	}
}

// TestValidDepth: nesting ends where that of encoding/json does.
func TestValidDepth(t *testing.T) {
	for _, depth := range []int{9_999, 10_000, 10_001, 1_000_000} {
		compareValid(t, []byte(strings.Repeat("[", depth)+strings.Repeat("]", depth)))
		compareValid(t, []byte(strings.Repeat(`{"a":`, depth)+"1"+strings.Repeat("}", depth)))
		compareValid(t, []byte(strings.Repeat(`[{"a":`, depth/2)+"1"+strings.Repeat("}]", depth/2)))
	}
}

func compareValid(t *testing.T, text []byte) {
	t.Helper()
	if got, want := valid(text), json.Valid(text); got != want {
		t.Errorf("%.100q: %v, want %v", text, got, want)
	}
}

// TestValidAllocates: it leaves no garbage, line by line.
func TestValidAllocates(t *testing.T) {
	text := []byte(jsonSeeds[0])
	n := testing.AllocsPerRun(100, func() {
		valid(text)
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkValid(b *testing.B) {
	text := []byte(`{"hash":"5d8bd39ec2172df3f4e7566d825f8db281d63130bad4c986ab65a8214c6fea63","seq":1075755,` +
		`"synced":1075751,"time":"2026-11-23T10:32:37.677Z","type":"booking.created","data":{"booking":` +
		`"JOS2rAbOtUcDYx4bq0fnrA","legs":[{"run":"9d1Zkz4Q0PaVGBTb","from":0,"to":7,"amount":35000,` +
		`"discount":-1}],"tickets":[{"id":"d_I9BPW3xgw3EaJIjVg3wA","seats":[197]}]}}`)
	b.SetBytes(int64(len(text)))
	b.Run("journal", func(b *testing.B) {
		for b.Loop() {
			valid(text)
		}
	})
	b.Run("encoding/json", func(b *testing.B) {
		for b.Loop() {
			json.Valid(text)
		}
	})
}
