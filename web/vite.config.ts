import { defineConfig } from "vitest/config";

// Names without hashes, so that the same sources give the same bytes anywhere.
export default defineConfig({
  base: "./",
  build: {
    target: "es2022",
    outDir: "dist",
    emptyOutDir: true,
    modulePreload: false,
    assetsInlineLimit: 0,
    cssCodeSplit: false,
    reportCompressedSize: false,
    rollupOptions: {
      output: {
        entryFileNames: "app.js",
        chunkFileNames: "[name].js",
        assetFileNames: (a) => (a.names[0]?.endsWith(".css") ? "app.css" : "[name][extname]"),
      },
    },
  },
  // Tests do not change modules, so that one process can run all of them.
  test: {
    include: ["test/**/*.test.ts"],
    testTimeout: 0,
    hookTimeout: 0,
    isolate: false,
    reporters: ["default", "./test/failures.ts"],
  },
});
