package main

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// manualFolder is the folder for the manual pages of commands.
const manualFolder = "share/man/man1/"

// manualPages returns a manual page for a command and for each command below it.
func manualPages(c *cobra.Command, version string, date time.Time) []file {
	p := manualPage{command: c, version: version, date: date}
	files := []file{{path: manualFolder + pageName(c) + ".1", data: []byte(p.text()), mode: 0o644}}
	for _, sub := range documentedCommands(c) {
		files = append(files, manualPages(sub, version, date)...)
	}
	return files
}

// documentedCommands returns the direct subcommands of a command that have manual pages.
func documentedCommands(c *cobra.Command) (list []*cobra.Command) {
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "help" {
			list = append(list, sub)
		}
	}
	return list
}

// pageName returns the name of the manual page of a command, such as weft-otf-summary.
func pageName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// manualPage builds the source of a manual page, which uses the man(7) macros of roff.
type manualPage struct {
	strings.Builder
	command *cobra.Command
	version string
	date    time.Time
}

// text returns the source of the page.
func (p *manualPage) text() string {
	c := p.command
	c.InitDefaultHelpFlag()
	name := pageName(c)
	date := p.date.Format(time.DateOnly)
	p.line(`.TH %s 1 "%s" "weft %s" "weft manual"`, escape(strings.ToUpper(name)), date, escape(p.version))
	p.line(".nh") // the reader may search for words: they are not hyphenated
	p.line(".SH NAME")
	p.line(`%s \- %s`, escape(name), escape(c.Short))
	p.line(".SH SYNOPSIS")
	p.line(`.B %s`, escape(c.CommandPath()))
	if rest := strings.TrimSpace(strings.TrimPrefix(c.UseLine(), c.CommandPath())); rest != "" {
		p.line("%s", escapeLine(rest))
	}
	if len(documentedCommands(c)) > 0 {
		p.line(".br\n.B %s\nCOMMAND [flags]", escape(c.CommandPath()))
	}
	p.line(".SH DESCRIPTION")
	p.prose(c.Long, c.Short+".")
	p.commands()
	p.flags("OPTIONS", c.NonInheritedFlags())
	p.flags("GLOBAL OPTIONS", c.InheritedFlags())
	p.line(".SH EXIT STATUS")
	for _, e := range exitCodes {
		p.line(".TP\n.B %s\n%s", e.code, escape(e.meaning))
	}
	if c.Example != "" {
		p.line(".SH EXAMPLES")
		p.line(".nf")
		for l := range strings.SplitSeq(c.Example, "\n") {
			p.line("%s", escapeLine(strings.TrimPrefix(l, "  ")))
		}
		p.line(".fi")
	}
	p.seeAlso()
	return p.String()
}

// exitCodes lists the exit codes, which are the same for all commands.
var exitCodes = []struct{ code, meaning string }{
	{"0", "The command succeeded."},
	{"1", `The trace has defects, or the answer is "no".`},
	{"2", "The command line is wrong."},
	{"3", "Input or output failed."},
	{"130", "The command was interrupted."},
}

func (p *manualPage) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

// listItem matches a line of a list in a help text: a term, at least two spaces, and its
// explanation.
var listItem = regexp.MustCompile(`^ +(\S+(?: \S+)*)  +(\S.*)$`)

// prose writes a help text with its paragraphs and lists. Other lines that begin with spaces stay
// as they are. It writes instead if the text is empty.
func (p *manualPage) prose(text, instead string) {
	if text == "" {
		text = instead
	}
	verbatim := false // the previous lines were written as they are
	for l := range strings.SplitSeq(strings.Trim(text, "\n"), "\n") {
		indented := strings.HasPrefix(l, " ") || strings.HasPrefix(l, "\t")
		item := listItem.FindStringSubmatch(l)
		if verbatim && (!indented || item != nil) {
			p.line(".fi\n.RE")
			verbatim = false
		}
		switch {
		case item != nil:
			p.line(".TP\n.B %s\n%s", escape(item[1]), escapeLine(item[2]))
		case indented:
			if !verbatim {
				p.line(".RS 4\n.nf")
				verbatim = true
			}
			p.line("%s", escapeLine(strings.TrimSpace(l)))
		case l == "":
			p.line(".PP")
		default:
			p.line("%s", escapeLine(strings.TrimLeft(l, "# "))) // cobra writes Markdown headings
		}
	}
	if verbatim {
		p.line(".fi\n.RE")
	}
}

// commands writes the lists of subcommands, one for each group.
func (p *manualPage) commands() {
	list := documentedCommands(p.command)
	if len(list) == 0 {
		return
	}
	p.line(".SH COMMANDS")
	write := func(group string) {
		for _, sub := range list {
			if sub.GroupID == group {
				p.line(".TP\n.BR %s (1)\n%s", escape(pageName(sub)), escape(sub.Short))
			}
		}
	}
	for _, g := range p.command.Groups() {
		p.line(".SS %s", escape(strings.TrimSuffix(g.Title, ":")))
		write(g.ID)
	}
	if len(p.command.Groups()) > 0 {
		p.line(".SS Other commands")
	}
	write("")
}

// flags writes a section that describes flags.
func (p *manualPage) flags(title string, set *pflag.FlagSet) {
	if !set.HasAvailableFlags() {
		return
	}
	p.line(".SH %s", title)
	set.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		names := `\fB` + escape("--"+f.Name) + `\fR`
		if f.Shorthand != "" {
			names = `\fB` + escape("-"+f.Shorthand) + `\fR, ` + names
		}
		if value != "" {
			names += ` \fI` + escape(value) + `\fR`
		}
		p.line(".TP\n%s\n%s%s", names, escapeLine(usage), escape(defaultText(f)))
	})
}

// defaultText returns the text for a flag's default value. For --jobs it is "all", because the
// number of cores depends on the machine.
func defaultText(f *pflag.Flag) string {
	switch f.DefValue {
	case "", "0", "false", "[]":
		return ""
	}
	switch {
	case f.Name == "jobs":
		return " (default: all)"
	case f.Value.Type() == "string":
		return fmt.Sprintf(" (default %q)", f.DefValue)
	}
	return " (default " + f.DefValue + ")"
}

// seeAlso refers to the pages of the parent command and of its other subcommands.
func (p *manualPage) seeAlso() {
	var refs []string
	above := p.command.Parent()
	if above == nil {
		return // the page lists its subcommands
	}
	refs = append(refs, above.CommandPath())
	for _, sub := range documentedCommands(above) {
		if sub != p.command && sub.GroupID == p.command.GroupID {
			refs = append(refs, sub.CommandPath())
		}
	}
	p.line(".SH SEE ALSO")
	for i, r := range refs {
		comma := ","
		if i == len(refs)-1 {
			comma = ""
		}
		p.line(".BR %s (1)%s", escape(strings.ReplaceAll(r, " ", "-")), comma)
	}
}

// escape returns a text in a form that roff prints unchanged.
func escape(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\\':
			b.WriteString(`\e`)
		case r == '-':
			b.WriteString(`\-`)
		case r == '\'':
			b.WriteString(`\(aq`)
		case r == '`':
			b.WriteString(`\(ga`)
		case r == '^':
			b.WriteString(`\(ha`)
		case r == '~':
			b.WriteString(`\(ti`)
		case r > '~':
			fmt.Fprintf(&b, `\[u%04X]`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// escapeLine is like escape for a whole line. It makes sure that roff does not take the line for a
// request.
func escapeLine(s string) string {
	s = escape(s)
	if strings.HasPrefix(s, ".") {
		return `\&` + s
	}
	return s
}
