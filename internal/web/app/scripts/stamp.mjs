// Writes ../dist/build.sha256: one line "sha256  path" for every file that the
// build reads and every file that it wrote, with paths from internal/web. The Go
// test TestDistIsFresh makes the same list without Node, so that neither a
// changed source nor an edited or half-committed dist goes unseen.
//
// What is listed: the visible files of app/ and, to any depth, those of its
// folders named in `sourceFolders`; the schema of the API, from which the documents
// and their types are made; and all of dist/ but the stamp itself.

import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'

const web = new URL('../../', import.meta.url)
const sourceFolders = ['app/public', 'app/scripts', 'app/src']
const stamp = 'dist/build.sha256'

const files = [
  ...filesIn('app', false),
  ...filesIn('../../graph/schema', false),
  ...sourceFolders.flatMap((folder) => filesIn(folder, true)),
  ...filesIn('dist', true).filter((path) => path !== stamp),
].toSorted()

const lines = files.map((path) => `${sha256(path)}  ${path}\n`)
writeFileSync(new URL(stamp, web), lines.join(''))

function filesIn(folder, deep) {
  return readdirSync(new URL(folder, web), { withFileTypes: true })
    .filter((entry) => !entry.name.startsWith('.'))
    .flatMap((entry) => {
      const path = `${folder}/${entry.name}`
      if (entry.isDirectory()) return deep ? filesIn(path, true) : []
      return [path]
    })
}

function sha256(path) {
  return createHash('sha256')
    .update(readFileSync(new URL(path, web)))
    .digest('hex')
}
