package words_test

import (
	"fmt"

	"waybill/server/frame/words"
)

func ExampleCounted() {
	fmt.Println(words.Counted(1, "key"))
	fmt.Println(words.Counted(2, "key"))
	fmt.Println(words.Counted(2, "company"))
	// Output:
	// 1 key
	// 2 keys
	// 2 companies
}

func ExampleHundredths() {
	fmt.Println(words.Hundredths(1234), words.Hundredths(-5), words.Hundredths(-1234))
	// Output: 12.34 -0.05 -12.34
}
