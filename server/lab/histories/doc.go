// Package histories is for tests only: it plays random histories against this program and against the small
// server in testdata/mini, which somebody has written from the pages alone. Both have the same
// timetable, and clocks that stand still at the same instant. After each step the answers of both must be the
// same, but for what need not be: words, ids, updatedAt and details.field.
//
//	go test ./server/lab/histories                                        // 200 histories
//	go test ./server/lab/histories -histories 10000
//	go test ./server/lab/histories -run TestBothServersAgree -first 4711 -histories 1   // one again
//
// A history follows from its number. One that differs is made shorter for as long as it still differs, and
// printed as lines of curl, which can be pasted against either server.
//
// The same package has the judge look at the small server, whole and stage by stage.
package histories
