package cli

import "strings"

// markdownEscapes replaces the characters that have a meaning in Markdown, in the text of a line or of a table's cell.
var markdownEscapes = strings.NewReplacer(`\`, `\\`, "|", `\|`, "&", "&amp;", "<", "&lt;", ">", "&gt;", "*", `\*`, "_",
	`\_`, "`", "\\`", "[", `\[`, "]", `\]`, "~", `\~`, "#", `\#`)

// markdownText returns Markdown that shows a text as it is.
func markdownText(s string) string { return markdownEscapes.Replace(plain(s)) }
