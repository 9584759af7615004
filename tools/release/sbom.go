package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// encodeSBOM returns the software bill of materials of a program as CycloneDX JSON. It lists the
// modules in the program's build information. It has no serial number, because the same program
// must give the same bytes.
func encodeSBOM(src *source, p platform, program []byte, modules []module) ([]byte, error) {
	sum := sha256.Sum256(program)
	weft := cdx.Component{
		BOMRef:     packageURL(mainModule, "v"+src.version),
		Type:       cdx.ComponentTypeApplication,
		Name:       mainModule,
		Version:    "v" + src.version,
		PackageURL: packageURL(mainModule, "v"+src.version),
		Hashes:     &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(sum[:])}},
		Licenses:   &cdx.Licenses{{License: &cdx.License{ID: ownLicence}}},
		Properties: &[]cdx.Property{{Name: "weft:platform", Value: p.String()}, {Name: "weft:commit", Value: src.commit}},
	}
	var components []cdx.Component
	var refs []string
	for _, m := range modules {
		version := m.version
		if m.path == standardLibrary {
			version = strings.TrimPrefix(version, "go")
		}
		c := cdx.Component{
			BOMRef:     packageURL(m.path, version),
			Type:       cdx.ComponentTypeLibrary,
			Name:       m.path,
			Version:    version,
			PackageURL: packageURL(m.path, version),
			Licenses:   componentLicences(m.identifiers()),
		}
		if m.sum != "" {
			c.Properties = &[]cdx.Property{{Name: "weft:go.sum", Value: m.sum}}
		}
		components = append(components, c)
		refs = append(refs, c.BOMRef)
	}
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Timestamp: src.time.Format(time.RFC3339), Component: &weft}
	bom.Components = &components
	bom.Dependencies = &[]cdx.Dependency{{Ref: weft.BOMRef, Dependencies: &refs}}
	var b bytes.Buffer
	err := cdx.NewBOMEncoder(&b, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cdx.SpecVersion1_6)
	return b.Bytes(), err
}

// componentLicences returns a single licence as an identifier, and several licences as an SPDX
// expression.
func componentLicences(ids []string) *cdx.Licenses {
	if len(ids) == 1 {
		return &cdx.Licenses{{License: &cdx.License{ID: ids[0]}}}
	}
	return &cdx.Licenses{{Expression: strings.Join(ids, " AND ")}}
}

// packageURL returns the package URL of a version of a module.
func packageURL(path, version string) string {
	return "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
}
