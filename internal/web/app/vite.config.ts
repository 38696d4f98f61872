import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'

/** The oldest browsers that the app works in, as README.md says; scripts/oldBrowsers.mjs checks the build. */
const supported = ['chrome97', 'edge97', 'firefox102', 'safari15.4', 'ios15.4']

const src = fileURLToPath(new URL('src', import.meta.url))

/**
 * Drops GraphiQL's embedded fonts: they are four fifths of its style sheet, and
 * as data: addresses they would need a wider content security policy. The
 * system's own faces take their place.
 */
function withoutEmbeddedFonts(): Plugin {
  return {
    name: 'without-embedded-fonts',
    enforce: 'pre',
    transform(code, id) {
      if (!/graphiql.*\.css/.test(id)) return null
      return { code: code.replace(/@font-face\s*\{[^}]*\}/g, ''), map: null }
    },
  }
}

/** Puts the documents that the app sends beside it: the server knows them from its start on. */
function withDocuments(): Plugin {
  return {
    name: 'with-documents',
    apply: 'build',
    generateBundle() {
      const source = readFileSync('src/documents.json')
      this.emitFile({ type: 'asset', fileName: 'documents.json', source })
    },
  }
}

export default defineConfig({
  plugins: [withoutEmbeddedFonts(), withDocuments(), react()],
  resolve: { alias: { '@': src, 'react-style-singleton': `${src}/styleSingleton.ts` } },
  // `npm run dev` beside a server that runs.
  server: {
    proxy: Object.fromEntries(
      ['/graphql', '/media', '/visit', '/demo', '/readyz'].map((path) => [
        path,
        { target: process.env.TANDIAN_URL ?? 'http://127.0.0.1:8080', ws: path === '/graphql' },
      ]),
    ),
  },
  build: {
    outDir: '../dist',
    emptyOutDir: true,
    target: supported,
    // One build, so that every page shares the React chunk and none loads another page's code.
    rolldownOptions: {
      input: { app: 'index.html', playground: 'playground.html' },
      // A dependency published with a directive for a compiler that has already run.
      checks: { moduleLevelDirective: false },
    },
    // Files stay files: script-src and style-src know no data: address.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    license: { fileName: 'LICENSES.md' },
    chunkSizeWarningLimit: 1200,
  },
})
