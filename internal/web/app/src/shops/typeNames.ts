import { useLanguage } from '@/i18n/language'

// The API returns English names. Custom types of an installation are shown unchanged.
const chinese: Partial<Record<string, string>> = {
  Restaurants: '餐厅',
  'Cafés & tea': '咖啡茶饮',
  'Snacks & fast food': '小吃快餐',
  'Bakeries & desserts': '面包甜点',
  'Bars & pubs': '酒吧',
  Karaoke: 'KTV',
  'Hair & beauty': '美发丽人',
  'Massage & spa': '按摩足疗',
  'Fitness & sports': '运动健身',
  'Cinema & theatre': '电影演出',
  'Kids & families': '亲子',
  'Books & culture': '书店文化',
  'Food shops & markets': '食品市集',
  'Places to stay': '酒店住宿',
}

/** Returns a function that translates the name of a shop type. */
export function useTypeName(): (name: string) => string {
  const language = useLanguage()
  return (name) => (language === 'zh' ? (chinese[name] ?? name) : name)
}
