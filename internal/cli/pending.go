package cli

import "github.com/spf13/cobra"

func (a *app) infoCommand() *cobra.Command     { return &cobra.Command{Use: "info"} }
func (a *app) plotCommand() *cobra.Command     { return &cobra.Command{Use: "plot"} }
func (a *app) messagesCommand() *cobra.Command { return &cobra.Command{Use: "messages"} }
func (a *app) statesCommand() *cobra.Command   { return &cobra.Command{Use: "states"} }
func (a *app) usageCommand() *cobra.Command    { return &cobra.Command{Use: "usage"} }
func (a *app) generateCommand() *cobra.Command { return &cobra.Command{Use: "generate"} }
