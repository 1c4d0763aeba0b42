package verify_test

import (
	"encoding/pem"
	"path/filepath"
	"regexp"
	"strings"

	"waybill/server/lab/rig"
	"waybill/store/checkpoint"
)

// starvedForms are the rows of what can be written in another form.
func starvedForms(h *honest) []starving {
	const log = checkpoint.LogFile
	witness := []string{"-witness-key", h.witness.VKey().String()}
	against := []string{"-against", "DIR/kept", "-key", "DIR/pub"}
	keep := func(do func(d starved)) func(starved) {
		return func(d starved) {
			d.write("kept", h.kept[0].Note)
			d.write("pub", d.read(checkpoint.PublicKeyFile))
			do(d)
		}
	}
	forged := func(old, with string) func(starved) {
		return func(d starved) {
			d.reforge(func(lines []string) []string {
				last := len(lines) - 1
				for lines[last] == regexp.MustCompile(old).ReplaceAllString(lines[last], with) {
					last--
				}
				lines[last] = regexp.MustCompile(old).ReplaceAllString(lines[last], with)
				return lines
			})
		}
	}
	return []starving{
		{"a signature that decodes to the same", func(d starved) { d.alterNote(ownSignature, padded) }, nil, "damaged", ""},
		{"a witness's signature that does", func(d starved) { d.alterNote(witnessSignature, padded) }, witness, "damaged", ""},
		{"a kept note whose signature does", keep(func(d starved) { d.alter("kept", ownSignature, padded) }), against, "failed", ""},
		{"a key of another kind", keep(func(d starved) {
			block, _ := pem.Decode(d.read("pub"))
			block.Bytes[8]-- // X25519
			d.write("pub", pem.EncodeToMemory(block))
		}), against, "failed", ""},
		{"a time, and no witness", func(starved) {}, []string{"-witnessed-within", "1m"}, "usage", ""},
		{"no empty line between notes", func(d starved) { d.alter(log, `\n\n(waybill/)`, is("\nwaybill/")) }, nil, "damaged", ""},
		{"a bad note at the end, beside an older checkpoint", func(d starved) {
			text := d.read(log)
			last := regexp.MustCompile(`(?s)waybill/[^—]*(— [^\n]*\n)+\n`).FindAll(text, -1)
			d.write(checkpoint.File, last[0][:len(last[0])-1])
			d.alter(log, ownSignature, func(line string) string {
				return line[:60] + strings.Map(swapped, line[60:61]) + line[61:]
			})
		}, nil, "damaged", ""},
		{"a blank in a line", forged(`,"before":`, `, "before":`), nil, "newer", ""},
		{"no word of the grace", forged(`"grace":false,`, ""), nil, "newer", ""},
	}
}

// swapped returns another digit of base64.
func swapped(r rune) rune {
	if r == 'A' {
		return 'B'
	}
	return 'A'
}

// starvedFormerForms are such rows of former names.
func starvedFormerForms() []starving {
	file := func(pattern string, do func(d starved, name string)) func(starved) {
		return func(d starved) {
			names, err := filepath.Glob(filepath.Join(d.dir, pattern))
			if err != nil || len(names) == 0 {
				d.Fatal(pattern, err)
			}
			do(d, strings.TrimPrefix(names[0], d.dir+"/"))
		}
	}
	return []starving{
		{"a former name's key is another's", file("checkpoint-*.pub", func(d starved, name string) {
			d.write(name, checkpoint.EncodePublicKey(stranger))
		}), nil, "forked", ""},
		{"a former note's other base64", file("checkpoints-*.log", func(d starved, name string) {
			d.alter(name, ownSignature, padded)
		}), nil, "damaged", ""},
		{"a former note is not in UTF-8", file("checkpoints-*.log", func(d starved, name string) {
			d.alter(name, " time 20", func(found string) string { return found + "\xb0" })
		}), nil, "damaged", ""},
	}
}

// starvedAgain are the rows of timetables that another line than a sale is decided by again.
func starvedAgain() []starving {
	gone := func(nth int) func(starved) {
		return func(d starved) {
			imported := regexp.MustCompile(`"type":"timetable.imported","data":\{"sha256":"([^"]*)"`)
			imports := imported.FindAllSubmatch(d.read(rig.JournalFile), -1)
			d.take("timetables/" + string(imports[nth][1]) + ".jsonl")
		}
	}
	return []starving{
		{"no timetable for the revival", gone(1), nil, "damaged", ""},
		{"no timetable for the change of a run", gone(2), nil, "damaged", ""},
	}
}
