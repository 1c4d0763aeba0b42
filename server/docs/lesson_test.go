package docs

import (
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// A lessonPart is a part of the sheet of the lesson, or of its answers.
type lessonPart struct {
	title   string
	minutes int // of the sheet; 0 of the answers
	text    string
	items   []string // the questions, or the answers
}

// readLesson returns the parts of the sheet of the lesson, or of its answers.
func readLesson(t *testing.T, page string) (list []lessonPart) {
	t.Helper()
	heading := regexp.MustCompile(`^(\d+\. .*?)(?: \((\d+) minutes\))?\n`)
	item := regexp.MustCompile(`(?m)^(\d+)\. (.*(?:\n   .*)*)`)
	for i, text := range strings.Split(content(t, page), "\n## ")[1:] {
		head := heading.FindStringSubmatch(text)
		if head == nil || !strings.HasPrefix(head[1], fmt.Sprint(i+1, ". ")) {
			t.Fatalf("%s: part %d begins %.40q", page, i+1, text)
		}
		part := lessonPart{title: head[1], text: text[len(head[0]):]}
		part.minutes, _ = strconv.Atoi(head[2])
		for j, m := range item.FindAllStringSubmatch(part.text, -1) {
			if m[1] != strconv.Itoa(j+1) {
				t.Errorf("%s, part %s: %s comes as number %d", page, part.title, m[1], j+1)
			}
			part.items = append(part.items, strings.Join(strings.Fields(m[2]), " "))
		}
		list = append(list, part)
	}
	return list
}

// codeSpan is what a page shows as code within a sentence.
var codeSpan = regexp.MustCompile("`([^`]+)`")

// TestTheLessonIsWhole: its parts fill two hours, each asks questions, and the second page has as many
// answers in each, of which each leads on. The sheet fits on four sides of A4, and the answers on two: these
// many lines were printed so.
func TestTheLessonIsWhole(t *testing.T) {
	t.Chdir(root)
	sheet := readLesson(t, "server/docs/lesson.md")
	answers := readLesson(t, "server/docs/lesson-answers.md")
	if len(sheet) != 7 || len(answers) != len(sheet) {
		t.Fatalf("%d parts, and answers to %d", len(sheet), len(answers))
	}
	minutes := 0
	for i, part := range sheet {
		minutes += part.minutes
		of := answers[i]
		if of.title != part.title || len(of.items) != len(part.items) || len(part.items) < 3 {
			t.Errorf("%s: %d questions; %s: %d answers", part.title, len(part.items), of.title, len(of.items))
		}
		for j, answer := range of.items {
			if !strings.HasPrefix(answer, "**") || !strings.Contains(answer, "Read on: [") {
				t.Errorf("answer %d.%d begins not in bold, or leads nowhere: %.60s", i+1, j+1, answer)
			}
		}
	}
	for page, most := range map[string]int{"lesson": 190, "lesson-answers": 92} {
		if n := strings.Count(content(t, "server/docs/"+page+".md"), "\n"); n > most {
			t.Errorf("%s has %d lines, more than %d do not fit on the paper", page, n, most)
		}
	}
	if minutes != 120 {
		t.Errorf("the parts take %d minutes", minutes)
	}
}

// TestTheAnswersOfTheLessonAreWhatIsSeen plays the sheet, opens the pages that it says to look at, and holds
// the answers against what was printed: each piece of code in an answer stands there, or in the files that
// the answer leads to, and no number of two digits stands outside of code.
func TestTheAnswersOfTheLessonAreWhatIsSeen(t *testing.T) {
	t.Chdir(root)
	if _, err := exec.LookPath("curl"); err != nil {
		t.Log("no curl: the lesson is not played")
		return
	}
	seen := playLesson(t, readLesson(t, "server/docs/lesson.md"))
	linked := regexp.MustCompile(`\]\((\.\./\.\./testdata/mini/[a-z0-9]+\.go)\)`)
	link := regexp.MustCompile(`\]\([^)]*\)`)
	for i, part := range readLesson(t, "server/docs/lesson-answers.md") {
		for j, answer := range part.items {
			texts := []string{seen[i]}
			for _, m := range linked.FindAllStringSubmatch(answer, -1) {
				texts = append(texts, filepath.Base(m[1]), content(t, filepath.Join("server/docs", m[1])))
			}
			there := strings.Join(texts, "\n")
			for _, m := range codeSpan.FindAllStringSubmatch(answer, -1) {
				if !strings.Contains(there, m[1]) {
					t.Errorf("answer %d.%d says %q, which nobody sees", i+1, j+1, m[1])
				}
			}
			bare := link.ReplaceAllString(codeSpan.ReplaceAllString(answer, ""), "")
			if number := regexp.MustCompile(`\d\d+`).FindString(bare); number != "" {
				t.Errorf("answer %d.%d has %s outside of code, so that nothing holds it", i+1, j+1, number)
			}
		}
	}
	if t.Failed() {
		t.Logf("%s", strings.Join(seen, "\n---\n"))
	}
}

// playLesson pastes the sheet's blocks into one shell, opens after each part the pages that its text names,
// and returns what was seen in each part, without the marks of HTML.
func playLesson(t *testing.T, sheet []lessonPart) (seen []string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.Symlink(build(t), filepath.Join(dir, "waybill")); err != nil {
		t.Fatal(err)
	}
	const mark = "<<the next part>>\n"
	block := regexp.MustCompile("(?s)```sh lesson\n(.*?)```\n")
	p := newPaste()
	p.add(t, "trap 'kill $DESK $SERVER 2>&- || true' EXIT\nDESK= SERVER=\n")
	for i, part := range sheet {
		for _, m := range block.FindAllStringSubmatch(part.text, -1) {
			p.add(t, strings.Replace(m[1], "go build -o waybill .\n", "", 1))
		}
		if i == 0 {
			p.add(t, "curl -fsSL -c jar -b jar -o today \"$(cat \"$WAYBILL_DATA.desk\")\"\n"+
				"DESKTOP=$(sed 's/?token.*//' \"$WAYBILL_DATA.desk\")\n")
		}
		p.add(t, openPages(block.ReplaceAllString(part.text, "")))
		p.add(t, "echo; printf '"+strings.ReplaceAll(mark, "\n", `\n`)+"'\n")
	}
	done, err := p.run(dir, "TMPDIR="+dir)
	if err != nil {
		t.Fatalf("%v\n%s", err, done.out)
	}
	for _, failed := range done.failed {
		t.Error(failed)
	}
	parts := strings.Split(done.out, mark)
	if len(parts) != len(sheet)+1 {
		t.Fatalf("%d parts were played\n%s", len(parts)-1, done.out)
	}
	for _, out := range parts[:len(sheet)] {
		seen = append(seen, html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(out, "")))
	}
	return seen
}

// openPages returns the commands that open what a text says to look at. Each page must be there: those of
// /docs for everybody, the others at the desk.
func openPages(text string) string {
	commands := []string{":\n"}
	for _, m := range codeSpan.FindAllStringSubmatch(text, -1) {
		path, isPage := strings.CutPrefix(m[1], "/")
		switch {
		case strings.HasPrefix(path, "docs/"):
			commands = append(commands, "curl -fsS \"$WAYBILL/"+path+"\"\n")
		case isPage:
			commands = append(commands, "curl -fsS -b jar \"${DESKTOP}"+path+"\"\n")
		}
	}
	return strings.Join(commands, "")
}
