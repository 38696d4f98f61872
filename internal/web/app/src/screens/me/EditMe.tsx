import { ImagePlus } from 'lucide-react'
import { useRef, useState } from 'react'
import { useLocation } from 'wouter'

import type { Refusal } from '@/api/errors'
import type { Gender } from '@/api/types.gql'
import { useAsk } from '@/api/useAsk'
import { useDo } from '@/api/useDo'
import { Form, Row, useErrorAt } from '@/forms/Form'
import { useUpload } from '@/forms/upload'
import { textOf } from '@/forms/written'
import { texts } from '@/i18n/texts'
import { Avatar } from '@/ui/Avatar'
import { Button } from '@/ui/Button'
import { Area, Field, Labelled } from '@/ui/Field'
import { Screen } from '@/ui/Screen'
import { Skeleton } from '@/ui/Skeleton'
import { Failed } from '@/ui/State'
import { toast } from '@/ui/toast'

import { MyProfileDocument, UpdateProfileDocument, type MyProfileFragment } from './edit-me.gql'
import css from './EditMe.module.css'
import { Password } from './Password'
import { Sessions } from './Sessions'

const useTexts = texts(
  {
    title: 'Edit profile',
    change: 'Choose a picture',
    uploading: 'Uploading the picture',
    remove: 'Remove the picture',
    nickname: 'Nickname',
    nicknameBounds: '1 to 30 characters.',
    city: 'City',
    cityBounds: 'At most 40 characters.',
    bio: 'About you',
    bioBounds: 'At most 200 characters.',
    gender: 'Gender',
    UNSPECIFIED: 'Not said',
    FEMALE: 'Female',
    MALE: 'Male',
    birthday: 'Birthday',
    birthdayBounds: 'A day from 1900 to today.',
    save: 'Save',
    saved: 'Saved.',
  },
  {
    title: '编辑资料',
    change: '更换头像',
    uploading: '正在上传图片',
    remove: '移除头像',
    nickname: '昵称',
    nicknameBounds: '1 到 30 个字符。',
    city: '城市',
    cityBounds: '最多 40 个字符。',
    bio: '个人简介',
    bioBounds: '最多 200 个字符。',
    gender: '性别',
    UNSPECIFIED: '不透露',
    FEMALE: '女',
    MALE: '男',
    birthday: '生日',
    birthdayBounds: '1900 年至今的日期。',
    save: '保存',
    saved: '已保存。',
  },
)

/** Profile, password and sessions of the user. */
export function EditMe() {
  const t = useTexts()
  // What is typed must not be replaced by what comes later.
  const [{ data, error }, ask] = useAsk({
    query: MyProfileDocument,
    variables: {},
    requestPolicy: 'network-only',
    catchUp: false,
  })
  return (
    <Screen title={t.title} up="/me">
      {data?.me ? (
        <div className={css.forms}>
          <Profile me={data.me} />
          <Password />
          <Sessions />
        </div>
      ) : error ? (
        <Failed error={error} again={() => ask({ requestPolicy: 'network-only' })} />
      ) : (
        <Skeleton shape="text" count={4} />
      )}
    </Screen>
  )
}

const genders: readonly Gender[] = ['UNSPECIFIED', 'FEMALE', 'MALE']

function Profile({ me }: { me: MyProfileFragment }) {
  const t = useTexts()
  const [, navigate] = useLocation()
  const [update, saving] = useDo(UpdateProfileDocument, { say: false })
  const [upload, progress] = useUpload()
  const uploading = progress !== null
  const file = useRef<HTMLInputElement>(null)
  const [refusals, setRefusals] = useState<readonly Refusal[]>([])
  const errorAt = useErrorAt(refusals)

  const [avatarUrl, setAvatarUrl] = useState(me.avatarUrl)
  const [nickname, setNickname] = useState(me.nickname)
  const [city, setCity] = useState(me.city ?? '')
  const [bio, setBio] = useState(me.bio ?? '')
  const [gender, setGender] = useState<Gender>(me.gender ?? 'UNSPECIFIED')
  const [birthday, setBirthday] = useState(me.birthday ?? '')

  const choose = async (chosen: File | undefined) => {
    if (file.current) file.current.value = ''
    if (!chosen) return
    const image = await upload(chosen)
    if (image) setAvatarUrl(image.url)
  }
  const save = async () => {
    // What nobody touched stays as it is.
    const done = await update({
      input: {
        ...(nickname === me.nickname ? {} : { nickname: nickname.trim() }),
        ...(avatarUrl === me.avatarUrl ? {} : { avatarUrl }),
        ...(city === (me.city ?? '') ? {} : { city: textOf(city) }),
        ...(bio === (me.bio ?? '') ? {} : { bio: textOf(bio) }),
        ...(gender === (me.gender ?? 'UNSPECIFIED') ? {} : { gender }),
        ...(birthday === (me.birthday ?? '') ? {} : { birthday: textOf(birthday) }),
      },
    })
    setRefusals(done.ok ? [] : done.refusals)
    if (!done.ok) return
    toast(t.saved)
    navigate('/me')
  }

  return (
    <Form
      label={t.title}
      refusals={refusals}
      fields={['nickname', 'avatarUrl', 'city', 'bio', 'gender', 'birthday']}
      onSubmit={() => void save()}
    >
      <div className={css.avatar}>
        <Avatar user={{ nickname: nickname || me.nickname, avatarUrl }} size={88} />
        <div className={css.buttons}>
          <input
            ref={file}
            type="file"
            hidden
            accept="image/jpeg,image/png,image/webp"
            aria-label={t.change}
            data-input="avatar"
            onChange={(event) => void choose(event.target.files?.[0])}
          />
          <Button kind="quiet" small busy={uploading} onClick={() => file.current?.click()}>
            {!uploading && <ImagePlus aria-hidden="true" size={18} />} {t.change}
          </Button>
          {avatarUrl !== null && (
            <Button kind="plain" small onClick={() => setAvatarUrl(null)}>
              {t.remove}
            </Button>
          )}
          {uploading && <progress aria-label={t.uploading} max={1} value={progress} />}
          {errorAt('avatarUrl') && <p role="alert">{errorAt('avatarUrl')}</p>}
        </div>
      </div>
      <Field
        label={t.nickname}
        error={errorAt('nickname', t.nicknameBounds)}
        longest={30}
        autoComplete="nickname"
        value={nickname}
        onChange={(event) => setNickname(event.target.value)}
      />
      <Area
        label={t.bio}
        error={errorAt('bio', t.bioBounds)}
        longest={200}
        value={bio}
        onChange={(event) => setBio(event.target.value)}
      />
      <Field
        label={t.city}
        error={errorAt('city', t.cityBounds)}
        longest={40}
        autoComplete="address-level2"
        value={city}
        onChange={(event) => setCity(event.target.value)}
      />
      <Row>
        <Labelled label={t.gender} error={errorAt('gender')}>
          {(given) => (
            <select
              {...given}
              value={gender}
              onChange={(event) => setGender(event.target.value as Gender)}
            >
              {genders.map((one) => (
                <option key={one} value={one}>
                  {t[one]}
                </option>
              ))}
            </select>
          )}
        </Labelled>
        <Field
          label={t.birthday}
          error={errorAt('birthday', t.birthdayBounds)}
          type="date"
          autoComplete="bday"
          value={birthday}
          onChange={(event) => setBirthday(event.target.value)}
        />
      </Row>
      <Button type="submit" wide busy={saving || uploading}>
        {t.save}
      </Button>
    </Form>
  )
}
