// Package lazydfa finds where a regular expression first matches in text that
// arrives in pieces.
//
// The regexp package wants the whole text. Here a [Matcher] keeps one state of
// a deterministic automaton between two pieces, and nothing of the text: what
// was fed is never looked at again, so the cost is linear in the text however
// it is cut, and no text has to be kept for it. The automaton's states are
// built from the program of regexp/syntax when they are first needed (the
// technique of RE2, "Regular Expression Matching in the Wild", R. Cox, 2010)
// and dropped when they take too much memory.
//
// It answers when something matches and where that match ends, not where it
// begins: [Regexp.Find] says that of the little text around it.
//
// The package imports the standard library only.
package lazydfa
