import { useSyncExternalStore } from 'react'
import type { CombinedError } from 'urql'

import type { Refusal } from '@/api/errors'
import { upload } from '@/api/upload'
import { ofTheTab } from '@/app/shelf'
import { createStore } from '@/app/store'
import { prepare } from '@/forms/shrink'
import { currentSession } from '@/session/session'

import type { PickedShopFragment } from './publish.gql'

// What somebody is writing lives beside the screen: it is there again for who comes back to it, and
// after a reload, but for pictures that were not sent yet.

export interface PictureOfDraft {
  readonly key: string
  readonly name: string
  /** Null until it is there. */
  readonly url: string | null
  /** A small one to show. */
  readonly preview: string | null
  /** From 0 to 1, while it is sent. */
  readonly progress: number
  /** Why it is not there; null as long as it may come. */
  readonly failure: { readonly refusal?: Refusal; readonly error?: CombinedError } | null
}

export interface Draft {
  readonly userId: string | null
  readonly shop: PickedShopFragment | null
  readonly title: string
  readonly content: string
  readonly pictures: readonly PictureOfDraft[]
  /** It was sent, and nobody knows whether it arrived. */
  readonly doubt: boolean
  /** It is being sent. */
  readonly sending: boolean
}

export const mostPictures = 9

const key = 'tandian.draft'
const atOnce = 2 // pictures that are sent at the same time
const empty: Draft = {
  userId: null,
  shop: null,
  title: '',
  content: '',
  pictures: [],
  doubt: false,
  sending: false,
}

const store = createStore<Draft>(read())
const files = new Map<string, File>()
const underWay = new Map<string, AbortController>()
let last = 0

store.subscribe(() => {
  const draft = store.get()
  const kept = {
    ...draft,
    sending: false,
    pictures: draft.pictures.filter(({ url }) => url !== null),
  }
  ofTheTab.setItem(key, JSON.stringify(kept))
})

/** The draft of somebody. That of anybody else is forgotten. */
export function useDraft(): Draft {
  return useSyncExternalStore(store.subscribe, store.get)
}

export const currentDraft = store.get

/** Begins a draft for who is signed in, unless there is one. */
export function open(userId: string): void {
  if (store.get().userId === userId) return
  clear()
  change({ userId })
}

export function change(part: Partial<Draft>): void {
  store.set({ ...store.get(), ...part })
}

/** Forgets the draft: it is published, or not wanted. */
export function clear(): void {
  for (const { key: name } of store.get().pictures) remove(name)
  store.set({ ...empty, userId: store.get().userId })
}

/** Adds pictures, as many as there is room for. False if some had none. */
export function add(chosen: readonly File[]): boolean {
  const room = mostPictures - store.get().pictures.length
  const taken = chosen.slice(0, Math.max(room, 0)).map((file): PictureOfDraft => {
    const name = `${Date.now()}-${++last}`
    files.set(name, file)
    const { name: called } = file
    return { key: name, name: called, url: null, preview: null, progress: 0, failure: null }
  })
  change({ pictures: [...store.get().pictures, ...taken] })
  sendNext()
  return chosen.length <= room
}

export function remove(name: string): void {
  underWay.get(name)?.abort()
  underWay.delete(name)
  files.delete(name)
  change({ pictures: store.get().pictures.filter((picture) => picture.key !== name) })
}

/** Moves a picture by some places. */
export function move(name: string, by: -1 | 1): void {
  const pictures = [...store.get().pictures]
  const from = pictures.findIndex((picture) => picture.key === name)
  const [picture] = pictures.splice(from, 1)
  if (picture === undefined) return
  pictures.splice(Math.max(from + by, 0), 0, picture)
  change({ pictures })
}

/** Sends a picture again. */
export function retry(name: string): void {
  setPicture(name, { failure: null, progress: 0 })
  sendNext()
}

export function pending({ pictures }: Draft): boolean {
  return pictures.some(({ url, failure }) => url === null && failure === null)
}

/** Waits until each picture is there or failed. */
export function settled(): Promise<void> {
  return new Promise((resolve) => {
    const look = () => {
      if (pending(store.get())) return
      forget()
      resolve()
    }
    const forget = store.subscribe(look)
    look()
  })
}

function sendNext(): void {
  if (underWay.size >= atOnce) return
  const next = store
    .get()
    .pictures.find(
      (picture) => picture.url === null && picture.failure === null && !underWay.has(picture.key),
    )
  if (next === undefined) return
  const leave = new AbortController()
  underWay.set(next.key, leave)
  void send(next.key, leave.signal).finally(() => {
    if (underWay.get(next.key) === leave) underWay.delete(next.key)
    sendNext()
  })
  sendNext()
}

async function send(name: string, signal: AbortSignal): Promise<void> {
  const file = files.get(name)
  const session = currentSession()
  if (file === undefined || session === null) {
    setPicture(name, { failure: {} })
    return
  }
  const { file: small, preview } = await prepare(file)
  if (signal.aborted) return
  setPicture(name, { preview })
  const done = await upload(small, session, {
    signal,
    onProgress: (progress) => setPicture(name, { progress }),
  })
  if (signal.aborted) return
  if ('image' in done) {
    const { url, thumbnailUrl } = done.image
    // The same picture has the same url, and a note has it once.
    if (store.get().pictures.some((picture) => picture.url === url)) remove(name)
    else setPicture(name, { url, preview: thumbnailUrl, progress: 1 })
    files.delete(name)
  } else setPicture(name, { failure: done })
}

function setPicture(name: string, part: Partial<PictureOfDraft>): void {
  const { pictures } = store.get()
  const at = pictures.findIndex((picture) => picture.key === name)
  const picture = pictures[at]
  if (picture === undefined) return
  const changed = [...pictures]
  changed[at] = { ...picture, ...part }
  change({ pictures: changed })
}

function read(): Draft {
  try {
    const value = JSON.parse(ofTheTab.getItem(key) ?? 'null') as Partial<Draft> | null
    return { ...empty, ...value }
  } catch {
    return empty
  }
}
