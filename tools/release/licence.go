package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// ownLicence is the SPDX identifier of weft's own licence.
const ownLicence = "Apache-2.0"

// thirdPartyName is the name of the file with the licences of all modules in the program.
const thirdPartyName = "THIRD-PARTY-LICENSES"

// knownLicences lists, for each licence, a phrase of its text and its SPDX identifier. Phrases are
// in lower case with single spaces.
var knownLicences = []struct{ phrase, identifier string }{
	{"apache license version 2.0", "Apache-2.0"},
	{"redistribution and use in source and binary forms", "BSD-2-Clause"},
	{"permission is hereby granted, free of charge", "MIT"},
	{"this is free and unencumbered software released into the public domain", "Unlicense"},
}

// endorsement is a phrase of the clause that BSD-3-Clause has and BSD-2-Clause has not.
const endorsement = "neither the name of"

// identifiers returns the sorted SPDX identifiers of the licences of a module.
func (m *module) identifiers() []string {
	var ids []string
	for _, l := range m.licences {
		text := strings.ToLower(strings.Join(strings.Fields(l.text), " "))
		for _, k := range knownLicences {
			if !strings.Contains(text, k.phrase) {
				continue
			}
			id := k.identifier
			if id == "BSD-2-Clause" && strings.Contains(text, endorsement) {
				id = "BSD-3-Clause"
			}
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// licenceExpression returns the SPDX expression for a program that contains the modules.
func licenceExpression(modules []module) string {
	ids := []string{ownLicence}
	for _, m := range modules {
		ids = append(ids, m.identifiers()...)
	}
	slices.Sort(ids)
	return strings.Join(slices.Compact(ids), " AND ")
}

// thirdPartyLicences returns a text with the licences of all modules.
func thirdPartyLicences(modules []module) []byte {
	var b bytes.Buffer
	b.WriteString("The program weft contains Go's standard library and the modules below.\n" +
		"Each is followed by its licence.\n")
	line := strings.Repeat("=", 78)
	for _, m := range modules {
		name := m.path
		if name == standardLibrary {
			name = "Go's standard library"
		}
		for _, l := range m.licences {
			fmt.Fprintf(&b, "\n%s\n%s %s, file %s\n\n", line, name, m.version, l.name)
			b.WriteString(strings.TrimRight(l.text, "\n") + "\n")
		}
	}
	return b.Bytes()
}
