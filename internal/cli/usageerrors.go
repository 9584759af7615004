package cli

import (
	"errors"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weft-trace/weft/internal/nearest"
)

// unknownCommand returns the error for a command that c does not have.
func unknownCommand(c *cobra.Command, name string) error {
	var names []string
	for _, s := range c.Commands() {
		names = append(names, s.Name())
	}
	see := nearest.DidYouMean(name, slices.Values(names), "see "+c.CommandPath()+" --help")
	return usageError("unknown command %q; %s", name, see)
}

// flagError returns the error for wrong flags of a command.
func flagError(c *cobra.Command, err error) error {
	see := "see " + c.CommandPath() + " --help"
	var value *pflag.InvalidValueError
	if errors.As(err, &value) {
		return valueError(value)
	}
	var e *pflag.NotExistError
	if errors.As(err, &e) && e.GetSpecifiedShortnames() == "" {
		var names []string
		c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
		see = nearest.DidYouMean("--"+e.GetSpecifiedName(), slices.Values(names), see)
	}
	return usageError("%w; %s", err, see)
}
