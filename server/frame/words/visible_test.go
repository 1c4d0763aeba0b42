package words_test

import (
	"fmt"

	"waybill/server/frame/words"
)

func ExampleVisible() {
	fmt.Println(words.Visible("Lviv\n\x1b[2J"))
	// Output: Lviv\u000a\u001b[2J
}
